#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options/option_set.h"
#include "cli/output.h"
#include "cli/train/train_options.h"
#include "core/files/atomic_file.h"
#include "run/report/html_report.h"
#include "run/run_folder.h"
#include "run/run_record.h"
#include "run/sinks/console_sink.h"

namespace lockstep {
namespace {

struct ReportOptions {
  std::string directory;
  std::string output;
};

template <OptionsOf<ReportOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [directory, output] = options;
  field(output, {.name = "output",
                 .help = "file for the page; without it: RUN_DIR/report.html",
                 .group = "Output",
                 .placeholder = "FILE"});
}

OptionSet option_set(ReportOptions& options) {
  OptionSet set(
      "lockstep report [options] RUN_DIR",
      "Writes report.html from the record that a run keeps in its --run-dir, and prints its epochs. Works "
      "during the run, too.");
  set.positional("RUN_DIR", "folder that was given to a run as --run-dir", options.directory);
  set.add(options);
  set.ignore(train_option_names());
  set.epilogue("Example:\n  lockstep report runs/lenet\n");
  return set;
}

void print_epochs(const RunRecord& record) {
  for (const EpochReport& epoch : record.epochs) print(epoch_line(epoch) + "\n");
  if (record.epochs.empty()) {
    print(fmt::format("no epoch completed, {} steps recorded\n", record.steps.size()));
  }
  if (record.end) {
    print(end_line(*record.end) + "\n");
  } else {
    print("no end recorded: the run is in progress, or was interrupted\n");
  }
}

}  // namespace

int run_report(int argc, char** argv) {
  ReportOptions options;
  OptionSet set = option_set(options);
  if (!set.parse(argc, argv, environ)) return print_help(set.help());
  if (!is_first_process()) return 0;
  const RunFolder folder(options.directory);
  const RunRecord record = read_run_record(folder);
  const std::filesystem::path file =
      options.output.empty() ? folder.report() : std::filesystem::path(options.output);
  write_text_file(file, html_report(record));
  print_epochs(record);
  print("wrote " + file.string() + "\n");
  return 0;
}

}  // namespace lockstep
