#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options/option_set.h"
#include "cli/output.h"
#include "cli/source_files.h"
#include "core/files/atomic_file.h"
#include "core/files/file_system.h"
#include "core/text/printable.h"
#include "lockstep/error.h"
#include "run/report/csv.h"
#include "run/report/html_report.h"
#include "run/run_folder.h"
#include "run/run_record.h"
#include "run/sinks/console_sink.h"
#include "run/tensorboard/event_file.h"
#include "run/tensorboard/event_records.h"

namespace lockstep {
namespace {

constexpr const char* to_stdout = "-";

/// Events that a CSV file lists.
enum class CsvRows { epochs, steps };
Names choices_of(CsvRows) { return {"epochs", "steps"}; }

struct ReportOptions {
  std::string directory;
  std::string output;
  std::string csv;
  CsvRows csv_rows = CsvRows::epochs;
  std::string tensorboard;
};

template <OptionsOf<ReportOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [directory, output, csv, csv_rows, tensorboard] = options;
  field(output, {.name = "output",
                 .help = "file for the page; without it: RUN_DIR/report.html",
                 .group = "Output",
                 .placeholder = "FILE"});
  field(csv, {.name = "csv",
              .help = "write the numbers of the record as CSV, instead of the page; -: to stdout",
              .placeholder = "FILE"});
  field(csv_rows,
        {.name = "csv-rows", .help = "events that the CSV file has a line for", .needs = {{"csv"}}});
  field(tensorboard,
        {.name = "tensorboard",
         .help = "write an event file for TensorBoard to this folder, instead of the page; during "
                 "a run with --tensorboard, another folder than its own",
         .placeholder = "DIR"});
}

OptionSet option_set(ReportOptions& options) {
  OptionSet set("lockstep report [options] RUN_DIR",
                "Writes report.html, a CSV file or an event file for TensorBoard from the record that a run "
                "keeps in its --run-dir, and prints its epochs. Works during the run, too.");
  set.positional("RUN_DIR", "folder that was given to a run as --run-dir", options.directory);
  set.add(options);
  set.epilogue(
      "Examples:\n  lockstep report runs/lenet\n  lockstep report runs/lenet --csv epochs.csv\n"
      "  lockstep report runs/lenet --tensorboard logs/lenet\n");
  set.check([&options] {
    if (!options.tensorboard.empty()) tensorboard::check_available();
  });
  return set;
}

void print_epochs(const RunRecord& record) {
  for (const EpochReport& epoch : record.epochs) print_report(epoch_line(epoch, samples_of(record)) + "\n");
  if (record.epochs.empty()) {
    print_report(fmt::format("no epoch completed, {} recorded\n", counted(record.steps.size(), "step")));
  }
  if (record.end) {
    print_report(end_line(*record.end) + "\n");
  } else {
    print_report(
        fmt::format("no end recorded: {}\n", without_control_characters(reason_without_end(record))));
  }
}

/// Writes the files that `options` name, or the page if they name none. Returns their paths.
std::vector<std::string> write_files(const RunFolder& folder, const RunRecord& record,
                                     const ReportOptions& options) {
  std::vector<std::string> written;
  if (!options.csv.empty()) {
    const std::string text = options.csv_rows == CsvRows::epochs ? csv(record.epochs) : csv(record.steps);
    if (options.csv == to_stdout) {
      print_report(text);
    } else {
      write_text_file(options.csv, text);
      written.push_back(options.csv);
    }
  }
  if (!options.tensorboard.empty()) {
    FileStatus status;
    files().stat(folder.metrics(), status);  // the record was read just now
    written.push_back(tensorboard::EventFile(options.tensorboard, record, status.modified).path().string());
  }
  if (!options.output.empty() || (options.csv.empty() && options.tensorboard.empty())) {
    written.push_back(options.output.empty() ? folder.report().string() : options.output);
    write_text_file(written.back(), html_report(record));
  }
  return written;
}

int report(const ReportOptions& options) {
  const RunFolder folder(options.directory);
  const RunRecord record = read_run_record(folder);
  if (options.csv != to_stdout) check_output(options.csv, OutputKind::record, {}, "csv");
  check_output(options.output, OutputKind::page, {}, "output", folder.path());
  const auto normal = [](const std::string& file) {
    return std::filesystem::absolute(file).lexically_normal();
  };
  const bool writes_both = !options.csv.empty() && !options.output.empty();
  if (writes_both && normal(options.csv) == normal(options.output)) {
    throw Error(Category::usage, options.output + " is the file of --csv: name another file", "output");
  }
  const std::vector<std::string> written = write_files(folder, record, options);
  if (options.csv == to_stdout) return 0;
  print_epochs(record);
  for (const std::string& file : written) print_report("wrote " + file + "\n");
  return 0;
}

}  // namespace

constinit const Command report_command = command_of_one_process<ReportOptions, option_set, report>(
    "report", "write report.html from a run directory");

}  // namespace lockstep
