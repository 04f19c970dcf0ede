#include "checkpoint/checkpoint_name.h"

#include <fmt/format.h>

#include <charconv>

namespace lockstep {
namespace {

constexpr std::string_view step_prefix = "step-";
constexpr std::size_t min_digits = 8;
constexpr std::size_t random_digits = 8;

/// Removes `part` from the beginning of `text`. Returns whether it was there.
bool take_prefix(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

/// Whether `text` is ".XXXXXXXX" and `ending`.
bool is_random_ending(std::string_view text, std::string_view ending) {
  return text.size() == 1 + random_digits + ending.size() && text.starts_with('.') &&
         text.ends_with(ending) &&
         text.substr(1, random_digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::optional<CheckpointName> parse_checkpoint_name(std::string_view name) {
  CheckpointName result;
  const bool hidden = take_prefix(name, ".");
  if (!take_prefix(name, step_prefix)) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), result.step);
  const std::string_view digits = name.substr(0, static_cast<std::size_t>(end - name.data()));
  if (error != std::errc() || digits != fmt::format("{:0{}}", result.step, min_digits)) return std::nullopt;
  name.remove_prefix(digits.size());
  if (hidden) {
    result.kind = CheckpointName::Kind::temporary;
    return is_random_ending(name, ".tmp") ? std::optional(result) : std::nullopt;
  }
  if (name.empty()) return result;
  const bool aside = is_random_ending(name, ".aside");
  result.kind = aside ? CheckpointName::Kind::aside : CheckpointName::Kind::replaced;
  return aside || is_random_ending(name, ".old") ? std::optional(result) : std::nullopt;
}

std::string checkpoint_name(std::uint64_t step) {
  return fmt::format("{}{:0{}}", step_prefix, step, min_digits);
}

}  // namespace lockstep
