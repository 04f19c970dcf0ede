#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/model/find_checkpoints.h"
#include "cli/source_files.h"
#include "cli/train/run_place.h"
#include "cli/train/stop_line.h"
#include "cli/train/train_options.h"
#include "cli/train/training_run.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/text/command_line.h"
#include "core/text/message.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "run/run_folder.h"

namespace lockstep {
namespace {

/// Whether `config` is the options.cfg of another run than the one that `options` begin or continue.
bool is_of_other_run(const std::filesystem::path& config, const TrainOptions& options) {
  const RunFolder run(folder_of(config));
  if (config.filename() != run.options().filename() || file_kind(run.environment()) != FileKind::file) {
    return false;
  }
  return !is_same_file(run.path(), run_directory_of(options));
}

/// Clears --save-model, with a warning, if it comes from the options.cfg of another run, as the file holds
/// that run's model. Throws Error(usage) on all ranks if the model would replace a file that the run reads.
/// Collective.
void check_save_model(const World& world, TrainOptions& options, const OptionSet& set) {
  world.agree([&] {
    std::string& model = options.output.save_model;
    if (world.rank() != 0 || model.empty()) return;
    const std::string config = set.file_of("save-model");
    if (!config.empty() && is_of_other_run(config, options)) {
      print_warning(
          fmt::format("{}: save-model is left out, as {} is the model of that run; give --save-model "
                      "to save that of this run",
                      config, model));
      return model.clear();
    }
    std::vector<SourceFile> sources = files_of(options.data);
    for (const std::string& file : set.config_files()) sources.push_back({file, "the configuration file"});
    if (names_network_file(options.model.name)) sources.push_back({options.model.name, "the network file"});
    check_output(model, OutputKind::model, sources, "save-model", run_directory_of(options));
  });
}

/// Warns if a run continues without its recorded options, because later errors do not name this cause. Throws
/// on all ranks as RunFolder::survey does. Collective.
void warn_of_missing_options(const World& world, const std::string& resume) {
  world.agree([&] {
    if (world.rank() != 0 || resume.empty() || resume == "auto" || !find_options(resume).empty()) return;
    const RunFolder run(find_run(resume));
    if (run.path().empty() || run.survey().checkpoints.empty()) return;
    print_warning(
        fmt::format("{} is missing: options that are not given have their defaults; copy the file back, or "
                    "give the run's options again ({} shows those that affect the result)",
                    run.options().string(), shell_line({"lockstep", "inspect", run.path().string()})));
  });
}

int run_train(int argc, char** argv) {
  StopRequests stops;             // first: earlier signals end the process by their default action
  std::signal(SIGPIPE, SIG_IGN);  // a closed stdout fails a write, but does not end the run
  TrainOptions options;
  OptionSet set = train_option_set(options);
  return run_on_ranks(set, argc, argv, [&](World& world) {
    Environment environment = this_environment();  // before the trainer binds this thread to a core
    environment.command_line.assign(argv, argv + argc);
    stops.set_limit(options.max_time, seconds_before_this_start());
    if (stops.is_over_before_start()) {
      if (world.rank() == 0) {
        print_message(
            too_late_line(own_start(), options.max_time, seconds_before_this_start(), options.resume));
      }
      return static_cast<int>(Category::stopped);
    }
    check_save_model(world, options, set);
    warn_of_missing_options(world, options.resume);
    std::optional<TrainingRun> run;
    try {
      run.emplace(world, options, stops, std::move(environment));
    } catch (const Error& error) {  // the time limit was reached while another run used the run directory
      if (error.category() != Category::stopped) throw;
      if (world.rank() == 0) {
        print_message(
            fmt::format("lockstep: stopped before the first step: {}, then start again", error.message()));
      }
      return static_cast<int>(Category::stopped);
    }
    return (*run)();
  });
}

}  // namespace

constinit const Command train_command{"train", "train a model on all ranks", run_train,
                                      describe<TrainOptions, train_option_set>};

}  // namespace lockstep
