#include "run/report/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "run/facts.h"
#include "run/record_line.h"
#include "run/report/event_numbers.h"
#include "run/report/run_axis.h"

namespace lockstep {
namespace {

/// Fields of events that differ between equal runs.
constexpr std::string_view times[] = {"seconds", "images_per_second"};

/// Calls `use` with each pair of entries of both lists that have the same number, if `is_common` returns true
/// for the number. Both lists must be ascending. Returns the number of calls.
template <class List, class Number, class IsCommon, class Use>
std::size_t for_each_common(const List& first, const List& second, const Number& number_of,
                            const IsCommon& is_common, const Use& use) {
  std::size_t count = 0;
  auto other = second.begin();
  for (const auto& entry : first) {
    while (other != second.end() && number_of(*other) < number_of(entry)) ++other;
    if (other == second.end()) break;
    if (number_of(*other) != number_of(entry) || !is_common(number_of(entry))) continue;
    use(entry, *other);
    ++count;
  }
  return count;
}

/// Collects the first difference of each name.
class FirstDifferences {
 public:
  void add(const std::string& name, const std::string& place, const std::string& first,
           const std::string& second) {
    if (names_.insert(name).second) list.push_back({name, place, first, second, true});
  }
  /// Compares the numbers that occur in the lines of both events.
  template <class Report>
  void compare(const std::string& place, const Report& first, const Report& second) {
    for_each_number(first, [&](const char* name, auto a) {
      if (std::ranges::find(times, name) != std::end(times)) return;
      for_each_number(second, [&](std::string_view other, auto b) {
        const auto x = static_cast<double>(a), y = static_cast<double>(b);
        if (other != name || x == y || (std::isnan(x) && std::isnan(y))) return;
        add(words(name), place, number_text(a), number_text(b));
      });
    });
  }

  std::vector<Difference> list;

 private:
  std::set<std::string> names_;
};

/// Facts that differ, except those named in `ignored`.
std::vector<Difference> compare_facts(const Facts& first, const Facts& second,
                                      const std::set<std::string>& ignored) {
  std::vector<Difference> differences;
  const auto add = [&](const std::string& name, const std::string& a, const std::string& b) {
    if (a != b && !ignored.contains(name)) differences.push_back({name, {}, a, b});
  };
  for (const auto& [name, value] : first) {
    const std::string* other = find_fact(second, name);
    add(name, value, other != nullptr ? *other : "none");
  }
  for (const auto& [name, value] : second) {
    if (find_fact(first, name) == nullptr) add(name, "none", value);
  }
  return differences;
}

/// Whether both runs ended at the same step: their options agree, and neither stopped early at another epoch.
bool have_same_length(const RunRecord& first, const RunRecord& second) {
  if (!first.epochs.empty() && !second.epochs.empty() &&
      first.epochs.back().epoch != second.epochs.back().epoch) {
    return false;
  }
  for (const char* name : {"epochs", "max-steps"}) {
    const std::string* a = find_fact(first.options, name);
    const std::string* b = find_fact(second.options, name);
    if ((a == nullptr) != (b == nullptr) || (a != nullptr && *a != *b)) return false;
  }
  return true;
}

}  // namespace

RunComparison compare_runs(const RunRecord& first, const RunRecord& second) {
  RunComparison result;
  FirstDifferences differences;
  const auto every_step = [](std::uint64_t) { return true; };
  // --max-steps may have cut an epoch in one of the runs, which then covers fewer of its steps.
  const RunAxis first_axis(first), second_axis(second);
  const auto with_same_end = [&](auto epoch) {
    const auto number = static_cast<double>(epoch);
    return first_axis.end_of_epoch(number) == second_axis.end_of_epoch(number);
  };
  const auto compare_digests = [&](const char* unit, const std::vector<RecordedDigest>& of_first,
                                   const std::vector<RecordedDigest>& of_second, const auto& is_common) {
    result.common_digests += for_each_common(
        of_first, of_second, [](const RecordedDigest& digest) { return digest.number; }, is_common,
        [&](const RecordedDigest& a, const RecordedDigest& b) {
          if (a.digest == b.digest) return;
          differences.add(fmt::format("digest of {}s", unit), fmt::format("{} {}", unit, a.number), a.digest,
                          b.digest);
        });
  };
  result.common_steps = for_each_common(
      first.steps, second.steps, [](const StepReport& step) { return step.step; }, every_step,
      [&](const StepReport& a, const StepReport& b) {
        differences.compare(fmt::format("step {}", a.step), a, b);
      });
  compare_digests("step", first.step_digests, second.step_digests, every_step);
  result.common_epochs = for_each_common(
      first.epochs, second.epochs, [](const EpochReport& epoch) { return epoch.epoch; }, with_same_end,
      [&](const EpochReport& a, const EpochReport& b) {
        differences.compare(fmt::format("epoch {}", a.epoch), a, b);
      });
  compare_digests("epoch", first.epoch_digests, second.epoch_digests, with_same_end);
  if (first.end && second.end && have_same_length(first, second)) {
    ++result.common_digests;
    if (first.end->digest != second.end->digest) {
      differences.add("digest", "end", first.end->digest, second.end->digest);
    }
  }
  result.results = std::move(differences.list);
  result.options = compare_facts(first.options, second.options, {"run-dir"});
  result.environment = compare_facts(first.environment, second.environment, {"started", "command_line"});
  return result;
}

}  // namespace lockstep
