#include "cli/train/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/model/find_checkpoints.h"
#include "cli/model/saved_model.h"
#include "cli/options/flag.h"
#include "cli/train/best_model.h"
#include "cli/train/not_finite.h"
#include "cli/train/run_messages.h"
#include "comm/world/agreed.h"
#include "comm/world/watch_of.h"
#include "core/files/atomic_file.h"
#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/process/launcher_report.h"
#include "core/text/command_line.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "core/version.h"
#include "data/image/decoder.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "train/checkpoints/checkpointer.h"
#include "train/loop/stragglers.h"

namespace lockstep {
namespace {

/// Sets the watchdog's limits, which apply from here on, and finds the place of the run.
RunPlace watched_run_place(World& world, const TrainOptions& options) {
  const ExecutionOptions& execution = options.training.execution;
  watch_of(world).set_limits(hang_limits(execution.hang_limit.seconds, execution.watchdog));
  return find_run_place(world, options);
}

/// Checks that the model can be saved, and opens the data.
DatasetPair open_data(World& world, const TrainOptions& options) {
  world.agree([&] {
    if (world.rank() == 0 && !options.output.save_model.empty())
      check_model_file_writable(options.output.save_model);
  });
  return open_dataset(world, options.data);
}

/// Options of the trainer. With a log interval, at most that many steps are submitted together.
TrainerOptions trainer_options(const TrainOptions& options) {
  TrainerOptions training = options.training;
  training.count_confusion = options.output.tensorboard;
  if (options.output.log_interval > 1) {
    training.execution.steps_at_once = static_cast<std::uint64_t>(options.output.log_interval);
  }
  return training;
}

/// Absolute form of `path`, simplified unless it contains "..": the folder before ".." may be a link.
std::string from_any_folder(const std::string& path) {
  if (path.empty()) return path;
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  return std::ranges::count(absolute, "..") > 0 ? absolute.string() : short_form(absolute).string();
}

/// For a run that continues from a checkpoint: options with the --init-from and --reset-head that options.cfg
/// records, on rank 0. Throws Error(usage) on all ranks if another --init-from is given; with --resume auto,
/// whose command also began the run, prints a warning instead. Collective.
TrainOptions with_recorded_start(const World& world, const RunPlace& place, TrainOptions options) {
  world.agree([&] {
    if (world.rank() != 0 || place.checkpoint.empty()) return;
    const std::filesystem::path file = find_options(place.checkpoint);
    if (file.empty()) return;  // the user has given the options again
    const std::string given = from_any_folder(options.init_from);
    options.init_from.clear();
    options.load = {};
    for (const ConfigEntry& entry : read_config(file.string())) {
      if (entry.name == "init-from") options.init_from = from_any_folder(entry.value);
      if (entry.name == "reset-head") from_text(entry.value, {}, options.load.reset_head);
    }
    if (given.empty() || given == options.init_from) return;
    const std::string began = options.init_from.empty() ? "without it" : "with " + options.init_from;
    if (options.resume == "auto") {
      print_warning(fmt::format("{} {} has no effect on a run that continues; this run began {}",
                                flag_of(&TrainOptions::init_from), given, began));
      return;
    }
    throw Error(Category::usage,
                fmt::format("has no effect on a run that continues: omit it; this run began {}", began),
                "init-from");
  });
  return options;
}

/// The options with each by_data replaced by a number. Collective.
TrainOptions resolved_by_data(const World& world, TrainOptions options, const Dataset& train) {
  options.training = resolved_by_data(world, std::move(options.training), train);
  return options;
}

ModelFile read_initial_model(const std::string& path) {
  const FileKind kind = file_kind(path);
  if (kind == FileKind::missing) {
    throw Error(Category::data,
                fmt::format("no file {}; docs/tutorial.md shows how to write torchvision's parameters",
                            in_quotes(path)),
                "init-from");
  }
  if (kind == FileKind::folder) {
    throw Error(Category::usage,
                fmt::format("{} is a folder: name a model file, such as {}", in_quotes(path),
                            RunFolder("RUN").best().string()),
                "init-from");
  }
  return open_model(path, false).file;
}

DatasetOptions from_any_folder(DatasetOptions data) {
  data.directory = from_any_folder(data.directory);
  data.labels = from_any_folder(data.labels);
  return data;
}

/// The options with this run's values in place of automatic ones that affect the result, and with absolute
/// paths of the files that the run reads and of the model that it saves.
TrainOptions resolved(TrainOptions options, const Trainer& trainer) {
  options.data = from_any_folder(options.data);
  options.init_from = from_any_folder(options.init_from);
  options.output.save_model = from_any_folder(options.output.save_model);
  if (names_network_file(options.model.name)) options.model.name = from_any_folder(options.model.name);
  options.training.batch.micro_batches = trainer.micro_batches();
  options.training.execution.device = trainer.device();
  options.training.reduce = trainer.reduce();
  return options;
}

void make_run_folder(const TrainOptions& options, const RunPlace& place, const Trainer& trainer,
                     const std::string& environment) {
  // Remove the record of a start that failed before its first checkpoint.
  if (place.has_source()) place.folder.remove_record();
  place.folder.create(train_config(resolved(options, trainer)), environment, place.continues);
  if (place.continues) {
    print_warnings(place.folder.cut_record(trainer.step(), trainer.epochs(), trainer.pass_until()));
  }
  const std::string engines = trainer.engines();
  if (!engines.empty()) write_text_file(place.folder.plans(), engines);
}

/// Returns the options outside of the trainer that affect the result: options of the network and the data,
/// and with --on-nan rollback options of checkpoints. A network file is named without its folder, as its
/// contents are compared.
Facts result_options(const TrainOptions& options) {
  Facts facts;
  ModelOptions model = options.model;
  if (names_network_file(model.name)) model.name = std::filesystem::path(model.name).filename().string();
  const std::vector<OptionText> all = texts_of(options);
  for (const auto& texts : {texts_of(model), texts_of(options.data), texts_of(options.checkpoints)}) {
    for (const OptionText& text : texts) {
      if (affects_result(all, text) && has_effect(texts, text)) {
        facts.emplace_back(text.field.name, text.value);
      }
    }
  }
  return facts;
}

/// Options of the data set that have an effect, with absolute paths.
Facts data_options(const TrainOptions& options) {
  Facts facts;
  const std::vector<OptionText> texts = texts_of(from_any_folder(options.data));
  for (const OptionText& text : texts) {
    if (!text.value.empty() && has_effect(texts, text)) facts.emplace_back(text.field.name, text.value);
  }
  return facts;
}

}  // namespace

TrainingRun::TrainingRun(World& world, const TrainOptions& options, StopRequests& stops,
                         Environment environment)
    : world_(world),
      stops_(stops),
      place_(watched_run_place(world, options)),
      data_(open_data(world, options)),
      options_(resolved_by_data(world, with_recorded_start(world, place_, options), *data_.train)),
      network_(agreed(
          world,
          [&] { return make_model(options.model.name, data_.train->shape(), data_.train->classes()); })),
      trainer_(world, *network_, *data_.train, *data_.test, trainer_options(options_),
               data_.validation.get()),
      warnings_(options_, leads() ? majority_class(*data_.test) : MajorityClass()) {
  trainer_.describe({.options = result_options(options_), .data = data_options(options_)});
  restore();
  map_ = map_ranks(world, device_text(trainer_, options_.training.execution.dtype));
  open_record(std::move(environment));
  if (leads()) {
    for (const Dataset* part : {data_.train.get(), data_.validation.get(), data_.test.get()}) {
      if (part != nullptr) print_warnings(part->warnings());
    }
    print_start(world, options_, place_, data_, *network_, trainer_, map_);
  }
  observe();
}

void TrainingRun::restore() {
  while (!place_.checkpoint.empty()) {
    try {
      return print_warnings(trainer_.resume(place_.checkpoint, options_.force));
    } catch (const Error& error) {  // thrown on all ranks if the checkpoint cannot be read
      if (error.category() != Category::data || !choose_newest_again(world_, options_, place_)) throw;
    }
  }
  if (options_.init_from.empty()) return;
  const ModelFile file = agreed(world_, [&] { return read_initial_model(options_.init_from); });
  const std::vector<std::string> warnings = trainer_.load(file, options_.load);
  if (leads()) print_warnings(warnings);
}

/// Contents of environment.json: `environment` and facts about the ranks.
std::string TrainingRun::environment_text(Environment environment) const {
  environment.lockstep = version();
  environment.mpi = world_.library();
  environment.image_libraries = image_libraries();
  environment.simd = trainer_.processor();
  for (const RankGroup& group : map_) {
    if (environment.hosts.empty() || environment.hosts.back() != group.host)
      environment.hosts.push_back(group.host);
  }
  environment.rank_map = map_;
  environment.ranks = world_.size();
  environment.threads = trainer_.threads();
  environment.more = {{"host_count", std::to_string(world_.hosts())},
                      {"micro_batches", std::to_string(trainer_.micro_batches())},
                      {"steps_per_epoch", std::to_string(trainer_.steps_per_epoch())},
                      {"exchange", trainer_.transport()},
                      {"device", name_of(trainer_.device())},
                      {"dtype", name_of(options_.training.execution.dtype)},
                      {"reduce", name_of(trainer_.reduce())},
                      {"samples", name_of(kind_of(data_.train->encoding()))}};
  return environment_json(environment);
}

void TrainingRun::open_record(Environment environment) {
  const std::vector<std::string> command = environment.command_line;  // environment is moved from below

  if (place_.keeps()) {  // check before the folder is created
    trainer_.check_checkpoint_space(place_.numbered ? place_.folder.path().parent_path()
                                                    : place_.folder.checkpoints());
  }
  create_numbered_folder(world_, place_);
  Watch& watch = watch_of(world_);
  if (place_.keeps()) {
    world_.agree([&] {
      if (!leads()) return;
      make_folder(place_.folder.path());
      place_.lock(world_.host(), options_.max_time);
      // Another run may have begun here since find_run_place; its checkpoints are not this run's.
      if (!place_.continues) place_.folder.check_unused(true);
    });
    watch.set_report_folder(place_.folder.path());
    // Set later checkpoints aside before anything else changes. If this start is killed before report_start,
    // its command is repeated and does the same again; after report_start, the newest checkpoint is the right
    // one.
    print_warnings(trainer_.write_checkpoints(place_.folder.checkpoints(), options_.checkpoints));
  }
  world_.agree([&] {
    if (leads() && place_.keeps()) {
      make_run_folder(options_, place_, trainer_, environment_text(std::move(environment)));
      if (!place_.checkpoint.empty()) restore_best_model(place_, trainer_, *network_, data_);
    }
    if (leads()) report_start(place_, trainer_.step());
  });
  if (place_.keeps()) {
    const std::string run = place_.folder.path().string();
    const bool resumes = place_.continues_its_newest();
    // Until this start has written a checkpoint, the advice repeats its options.
    const std::string advice = restart_advice(start_, command, run, resumes);
    // Ranks other than 0 do not learn of new checkpoints, so they advise both. The command that begins again
    // resumes if there is a checkpoint.
    watch.set_advice(leads() || resumes ? advice : "resume or " + advice);
  }
  world_.agree([&] {  // last, because errors of files are warnings from here on
    recorder_.emplace(make_recorder(options_.output, place_.folder.path(),
                                    {.rank = world_.rank(),
                                     .ranks = world_.size(),
                                     .host = world_.host(),
                                     .samples = kind_of(data_.train->encoding())}));
  });
}

/// Connects the trainer's events to the record and to warnings, and stop requests to the trainer.
void TrainingRun::observe() {
  trainer_.ask = [&] { return stops_.ask(); };
  trainer_.act = [&](Request request) {
    recorder_->flush();  // so that the record of a checkpoint's steps is complete
    stops_.carried_out(request);
    if (leads() && request == Request::checkpoint && !place_.keeps()) {
      print_warning(fmt::format("SIGUSR2: no checkpoint is written, as nothing is kept of this run ({} none)",
                                flag_of(&OutputOptions::run_directory)));
    }
  };
  if (!leads()) {
    if (!recorder_->empty()) trainer_.on_event = [&](const RunEvent& event) { recorder_->on_event(event); };
    return;
  }
  const auto before_record =
      observer([](const StragglerReport& straggler) { print_warning(message_of(straggler)); },
               [this](const EpochReport& epoch) { warnings_.look_at(epoch); },
               [this](const CheckpointReport& checkpoint) { look_at(checkpoint); });
  const auto after_record = observer(
      [this](const EpochReport& epoch) {
        if (epoch.best && place_.keeps()) save_best();
      },
      [this](const NotFiniteReport& report) {
        report_not_finite(report, *data_.train, place_.folder, *recorder_);
        if (report.handling != OnNan::rollback) return;
        unsaved_best_.reset();
        restore_best_model(place_, trainer_, *network_, data_);
      });
  trainer_.on_event = [this, before_record, after_record](const RunEvent& event) {
    before_record(event);
    recorder_->on_event(event);
    after_record(event);
  };
  if (place_.keeps()) {  // so that no crash of the machine leaves a checkpoint without its record
    trainer_.before_checkpoint = [this, file = place_.folder.metrics()] {
      place_.folder.check_place();
      sync_file(file);
    };
  }
}

/// Ends a run whose directory is no longer at its path. Clears the advice: no command continues the run
/// there.
void TrainingRun::check_place() {
  try {
    place_.folder.check_place();
  } catch (const FileError&) {  // a lock that cannot be renewed now; the next checkpoint tries it again
  } catch (const Error&) {
    watch_of(world_).set_advice({});
    throw;
  }
}

void TrainingRun::look_at(const CheckpointReport& checkpoint) {
  if (!checkpoint.failure.empty()) check_place();
  warn_of_checkpoint(checkpoint, !stops_.stopped() && !trainer_.done());
  stops_.expect_end(2.0 * checkpoint.write_seconds + 1.0);  // for the checkpoint in progress and the last one
  if (checkpoint.failure.empty())
    watch_of(world_).set_advice(resume_advice(start_, place_.folder.path().string()));
}

int TrainingRun::operator()() {
  stops_.wait_for_boundaries();
  trainer_.fit();
  if (stops_.stopped() && !trainer_.done()) return end_stopped();
  world_.agree([&] {
    if (leads()) finish();
  });
  return 0;
}

void TrainingRun::save_best() {
  const std::string file = place_.folder.best().string();
  const bool saved = recorder_->attempt([&] { trainer_.save(file); }, file);
  unsaved_best_ = saved ? std::nullopt : std::optional(trainer_.step());
}

/// Writes the results of the run, on rank 0. Models come first, as writing the record may fail.
void TrainingRun::finish() {
  Recorder& recorder = *recorder_;
  const std::string& model = options_.output.save_model;
  // The last checkpoint may have freed disk space since the failed attempt.
  if (unsaved_best_ == trainer_.step()) save_best();
  if (!model.empty()) recorder.attempt([&] { trainer_.save(model); });
  if (place_.keeps()) {
    recorder.attempt([&] { trainer_.save(place_.folder.final_model()); });
  }
  recorder.on_event(EndReport{.digest = trainer_.digest(), .note = digest_note(world_, options_, trainer_)});
  recorder.flush();
  print_best(options_, data_, trainer_);
  recorder.rethrow();
}

/// Ends a run that was stopped. Returns the exit status. Collective.
int TrainingRun::end_stopped() {
  const std::string reason = stops_.reason(world_);
  recorder_->flush();  // a failure is printed; the exit status remains Category::stopped
  if (leads()) {
    const auto stop = stop_report(start_, reason, trainer_.step(), place_.folder.path().string());
    if (has_launcher()) {
      report_to_launcher({.stop = stop});
    } else {
      print_message(stop_line(stop));
    }
  }
  return static_cast<int>(Category::stopped);
}

}  // namespace lockstep
