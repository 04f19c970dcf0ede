#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options/option_set.h"
#include "cli/results.h"
#include "cli/train/train_options.h"
#include "core/files/file_system.h"
#include "core/json/members.h"
#include "core/text/printable.h"
#include "lockstep/error.h"
#include "run/facts.h"
#include "run/report/run_comparison.h"
#include "run/run_folder.h"
#include "run/run_record.h"

namespace lockstep {
namespace {

constexpr int status_if_different = 1;

struct DiffOptions {
  std::string first;
  std::string second;
  ResultOptions results;
};

OptionSet option_set(DiffOptions& options) {
  OptionSet set("lockstep diff RUN_A RUN_B",
                "Compares the records of two runs: steps, epochs and digests that both have. Names the first "
                "step whose loss, learning rate or digest differs, the first epoch that differs, and options "
                "and facts of the environment that differ. Exit status: 0 if all results are the same, 1 if "
                "some differ, others as in docs/troubleshooting.md.");
  set.positional("RUN_A", "run directory", options.first);
  set.positional("RUN_B", "run directory", options.second);
  set.add(options.results);
  set.epilogue("Example:\n  lockstep diff runs/lenet-1 runs/lenet-2\n");
  return set;
}

struct ComparedRun {
  std::string name;
  std::size_t steps = 0;
  std::size_t epochs = 0;
  std::optional<std::string> digest;  ///< digest at the end; none: no end is recorded
};
LOCKSTEP_MEMBERS(ComparedRun, name, steps, epochs, digest)

struct DiffResults {
  ComparedRun a;
  ComparedRun b;
  RunComparison comparison;
  std::vector<std::string> missing = {};  ///< files that are missing: options or environment of a run
};

template <OptionsOf<DiffResults> O, class Visitor>
void visit(O& results, Visitor&& field) {
  auto& [a, b, comparison, missing] = results;
  field(a, {.name = "a"});
  field(b, {.name = "b"});
  visit(comparison, field);
  field(missing, {.name = "missing"});
}

ComparedRun summary_of(const RunRecord& record) {
  ComparedRun run{record.name, record.steps.size(), record.epochs.size(), {}};
  if (record.end) run.digest = record.end->digest;
  return run;
}

/// Whether an option can change the result of a run with the options `recorded`. True for an option that this
/// version does not know.
bool decides_result(const std::string& option, const Facts& recorded) {
  std::vector<OptionText> known = texts_of(TrainOptions{});
  for (OptionText& text : known) {
    if (const std::string* value = find_fact(recorded, text.field.name)) text.value = *value;
  }
  const auto found =
      std::ranges::find_if(known, [&](const OptionText& text) { return text.field.name == option; });
  return found == known.end() || affects_result(known, *found);
}

DiffResults compare(const RunRecord& a, const RunRecord& b) {
  DiffResults results{summary_of(a), summary_of(b), compare_runs(a, b)};
  if (!results.comparison.has_common()) {
    throw Error(Category::data,
                fmt::format("{} and {} have no step, epoch or digest in common", a.name, b.name));
  }
  for (Difference& option : results.comparison.options) {
    option.decides_result = decides_result(option.name, a.options) || decides_result(option.name, b.options);
  }
  return results;
}

/// Drops the comparison of files that `run` lacks: all facts of the other run would count as differences.
void leave_out_missing(const RunFolder& run, DiffResults& results) {
  const auto check = [&](const std::filesystem::path& file, std::vector<Difference>& differences) {
    if (file_kind(file) != FileKind::missing) return;
    results.missing.push_back(file.string());
    differences.clear();
  };
  check(run.options(), results.comparison.options);
  check(run.environment(), results.comparison.environment);
}

std::string text_of(const char* letter, const ComparedRun& run) {
  return fmt::format("{}: {}: steps: {}, epochs: {}, {}\n", letter, without_control_characters(run.name),
                     run.steps, run.epochs,
                     run.digest ? "ended with digest " + without_control_characters(*run.digest)
                                : std::string("no end recorded"));
}

/// Last line of the text. Equal results prove little unless both runs' ends were recorded.
std::string conclusion(const DiffResults& results) {
  if (!results.comparison.results.empty()) return "the results differ\n";
  const bool a = results.a.digest.has_value(), b = results.b.digest.has_value();
  if (a && b) return "the results are the same\n";
  const char* which = a ? "B has" : b ? "A has" : "A and B have";
  return fmt::format("the results that both have are the same; {} no end\n", which);
}

std::string text_of(const DiffResults& results) {
  const RunComparison& found = results.comparison;
  std::string text = text_of("A", results.a) + text_of("B", results.b) +
                     fmt::format("in both: steps: {}, epochs: {}, digests: {}\n", found.common_steps,
                                 found.common_epochs, found.common_digests);
  const auto add = [&](const std::string& what, const Difference& fact, const char* remark = "") {
    text += without_control_characters(fmt::format("{}: {} in A, {} in B{}", what, fact.a, fact.b, remark)) +
            "\n";
  };
  for (const Difference& fact : found.results) {
    add(fmt::format("first difference in {}: {}", fact.name, fact.place), fact);
  }
  for (const std::string& file : results.missing) {
    text += without_control_characters(file) + " is missing\n";
  }
  for (const Difference& fact : found.options) {
    add("option " + fact.name, fact, fact.decides_result ? "" : " (may differ between equal runs)");
  }
  for (const Difference& fact : found.environment) add("environment: " + fact.name, fact);
  return text + conclusion(results);
}

int diff(const DiffOptions& options) {
  const RunFolder first(options.first), second(options.second);
  DiffResults results = compare(read_run_record(first), read_run_record(second));
  leave_out_missing(first, results);
  leave_out_missing(second, results);
  ResultPrinter(options.results, true).print(results);
  return results.comparison.results.empty() ? 0 : status_if_different;
}

}  // namespace

constinit const Command diff_command =
    command_of_one_process<DiffOptions, option_set, diff>("diff", "compare the records of two runs");

}  // namespace lockstep
