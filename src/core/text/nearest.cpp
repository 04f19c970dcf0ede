#include "core/text/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/text/printable.h"

namespace lockstep {
namespace {

/// Optimal string alignment distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

/// Names that timm, PyTorch and its examples use, each with our name for the same thing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> other_names{{
    {"aa", "randaugment"},
    {"amp", "dtype"},
    {"b", "batch-size"},
    {"bfloat16", "bf16"},
    {"cutmix", "mixup"},
    {"float32", "fp32"},
    {"gpu", "cuda"},
    {"grad-accum-steps", "micro-batches"},
    {"initial-checkpoint", "init-from"},
    {"learning-rate", "lr"},
    {"num-classes", "classes"},
    {"opt", "optimizer"},
    {"opt-betas", "beta1"},
    {"output", "run-dir"},
    {"reprob", "cutout"},
    {"val-fraction", "validation-fraction"},
    {"workers", "threads"},
}};

/// Name in `known` of the thing that other programs call `name`; empty if there is none.
std::string our_name(std::string_view name, std::span<const std::string> known) {
  for (const auto& [theirs, ours] : other_names) {
    if (name == theirs && std::ranges::find(known, ours) != known.end()) return std::string(ours);
  }
  return "";
}

/// The only known name that starts with `name`; empty if there are none or several.
std::string completion(std::string_view name, std::span<const std::string> known) {
  std::string found;
  for (const std::string& candidate : known) {
    if (!candidate.starts_with(name)) continue;
    if (!found.empty()) return "";
    found = candidate;
  }
  return found;
}

}  // namespace

std::string nearest(std::string_view name, std::span<const std::string> known) {
  constexpr std::size_t longest = 100;  // bounds the table of edit_distance
  if (name.empty() || name.size() > longest) {
    return "";
  }
  if (std::string ours = our_name(name, known); !ours.empty()) return ours;
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 4) + 1;
  for (const std::string& candidate : known) {
    // A suggestion must need fewer edits than either name has letters: that many edits turn any name into any
    // other.
    const std::size_t limit = std::min({best_distance, name.size(), candidate.size()});
    if (name.size() >= candidate.size() + limit || candidate.size() >= name.size() + limit) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < limit) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? completion(name, known) : best;
}

std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known) {
  const std::string guess = nearest(name, known);
  std::string message = fmt::format("unknown {} '{}'", kind, printable(name));
  if (!guess.empty()) {
    message += fmt::format("; did you mean '{}'?", printable(guess));
  }
  message += guess.empty() ? "; known:" : " known:";
  constexpr std::size_t max_listed = 20;
  constexpr std::size_t first_of_more = 12;
  const std::size_t listed = known.size() <= max_listed ? known.size() : first_of_more;
  for (std::size_t i = 0; i < listed; ++i) {
    message += (i == 0 ? " " : ", ") + printable(known[i]);
  }
  if (known.size() > listed) message += fmt::format(", ... ({} in all)", known.size());
  return message;
}

std::string suggestion(std::string_view name, std::span<const std::string> known, std::string_view prefix) {
  const std::string best = nearest(name, known);
  return best.empty() ? "" : fmt::format("; did you mean {}{}?", prefix, printable(best));
}

}  // namespace lockstep
