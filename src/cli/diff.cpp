#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "cli/commands.h"
#include "cli/options/option_set.h"
#include "cli/output.h"
#include "cli/train/train_options.h"
#include "core/printable.h"
#include "lockstep/error.h"
#include "report/run_comparison.h"
#include "report/run_directory.h"
#include "report/run_record.h"

namespace lockstep {
namespace {

constexpr int status_if_different = 1;

struct DiffOptions {
  std::string first;
  std::string second;
};

OptionSet option_set(DiffOptions& options) {
  OptionSet set("lockstep diff RUN_A RUN_B",
                "Compares the records of two runs: steps, epochs and digests that both have. Names the first "
                "step whose loss, learning rate or digest differs, the first epoch that differs, and options "
                "and facts of the environment that differ. Exit status: 0 if all results are the same, 1 if "
                "some differ, others as in README.md.");
  set.positional("RUN_A", "run directory", options.first);
  set.positional("RUN_B", "run directory", options.second);
  set.ignore(train_option_names());
  set.epilogue("Example:\n  lockstep diff runs/lenet-1 runs/lenet-2\n");
  return set;
}

void print_run(const char* letter, const RunRecord& record) {
  print(
      without_control_characters(fmt::format(
          "{}: {}: steps: {}, epochs: {}, {}", letter, record.name, record.steps.size(), record.epochs.size(),
          record.end ? "ended with digest " + record.end->digest : std::string("no end recorded"))) +
      "\n");
}

std::string values_of(const Difference& difference) {
  return fmt::format("{} in A, {} in B", difference.first, difference.second);
}

/// Remark on an option that does not decide the result; empty for others, and those of other versions.
std::string remark_on(const std::string& option) {
  static const std::vector<OptionText> known = texts_of(TrainOptions{});
  const auto found =
      std::ranges::find_if(known, [&](const OptionText& text) { return text.field.name == option; });
  return found == known.end() || found->field.scope == Scope::result ? ""
                                                                     : " (may differ between equal runs)";
}

void print_comparison(const RunComparison& comparison) {
  print(fmt::format("in both: steps: {}, epochs: {}, digests: {}\n", comparison.steps, comparison.epochs,
                    comparison.digests));
  for (const Difference& difference : comparison.results) {
    print(without_control_characters(fmt::format("first difference in {}: {}: {}", difference.name,
                                                 difference.place, values_of(difference))) +
          "\n");
  }
  for (const Difference& option : comparison.options) {
    print(without_control_characters(
              fmt::format("option {}: {}{}", option.name, values_of(option), remark_on(option.name))) +
          "\n");
  }
  for (const Difference& fact : comparison.environment) {
    print(without_control_characters(fmt::format("environment: {}: {}", fact.name, values_of(fact))) + "\n");
  }
  print(comparison.results.empty() ? "the results are the same\n" : "the results differ\n");
}

}  // namespace

int run_diff(int argc, char** argv) {
  DiffOptions options;
  OptionSet set = option_set(options);
  if (!set.parse(argc, argv, environ)) return print_help(set.help());
  if (!is_first_process()) return 0;
  const RunRecord first = read_run_record(RunDirectory{options.first});
  const RunRecord second = read_run_record(RunDirectory{options.second});
  const RunComparison comparison = compare_runs(first, second);
  if (!comparison.has_common()) {
    throw Error(Category::data,
                fmt::format("{} and {} have no step, epoch or digest in common", first.name, second.name));
  }
  print_run("A", first);
  print_run("B", second);
  print_comparison(comparison);
  if (comparison.results.empty()) return 0;
  flush_output();
  return status_if_different;
}

}  // namespace lockstep
