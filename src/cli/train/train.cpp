#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/data_warnings.h"
#include "cli/options/flag.h"
#include "cli/train/not_finite.h"
#include "cli/train/run_place.h"
#include "cli/train/stop_line.h"
#include "cli/train/train_options.h"
#include "comm/watch/watch.h"
#include "core/files/atomic_file.h"
#include "core/files/folder.h"
#include "core/message.h"
#include "core/version.h"
#include "data/image/decoder.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "lockstep/stop_requests.h"
#include "lockstep/trainer.h"
#include "lockstep/world.h"
#include "report/environment.h"
#include "report/recorder.h"
#include "report/run_directory.h"
#include "train/guards/stragglers.h"

namespace lockstep {
namespace {

/// Options of the trainer. With a log interval, that many steps are submitted together.
TrainerOptions trainer_options(const TrainOptions& options) {
  TrainerOptions training = options.training;
  if (options.output.log_interval > 1) {
    training.execution.steps_at_once = static_cast<std::uint64_t>(options.output.log_interval);
  }
  return training;
}

/// Device of a rank, in words: "2 threads, avx512" or "a GPU (NVIDIA H200), bf16".
std::string processor_of(const Trainer& trainer, DataType dtype) {
  if (trainer.device() == DeviceKind::cuda)
    return fmt::format("a GPU ({}), {}", trainer.processor(), name_of(dtype));
  return fmt::format("{} thread{}, {}", trainer.threads(), trainer.threads() == 1 ? "" : "s",
                     trainer.processor());
}

/// Prints a summary of the run on stderr, as stdout is for results only.
void print_summary(const World& world, const TrainOptions& options, const Trainer& trainer) {
  print_message(fmt::format("{} on {}: {} rank{} x {}, batch {} = {} micro-batches of {}{}",
                            options.model.name, options.data.name, world.size(), world.size() == 1 ? "" : "s",
                            processor_of(trainer, options.training.execution.dtype),
                            options.training.batch.size, trainer.micro_batches(),
                            options.training.batch.size / trainer.micro_batches(),
                            world.size() > 1 ? ", exchange by " + std::string(trainer.transport()) : ""));
}

void warn_of_idle_executors(const World& world, const TrainOptions& options, const Trainer& trainer) {
  const int executors = world.size() * trainer.threads();
  const int busy = trainer.micro_batches();
  if (executors > busy) {
    print_warning(
        fmt::format("{} of {} executors (ranks x threads: {} x {}) have no work (micro-batches: {}); "
                    "use {} {} or a larger {} (a divisor of {})",
                    executors - busy, executors, world.size(), trainer.threads(), busy,
                    flag_of(&ExecutionOptions::threads), std::max(1, busy / world.size()),
                    flag_of(&BatchOptions::micro_batches), options.training.batch.size));
  }
}

/// Warns if the micro-batches leave vector lanes of the CPU empty that the default ones would fill.
void warn_of_empty_lanes(const TrainOptions& options, const Trainer& trainer) {
  const int batch = options.training.batch.size;
  const int samples = batch / trainer.micro_batches();
  if (trainer.device() != DeviceKind::cpu || used_lanes(samples) > 0.7 || batch % 16 != 0) return;
  print_warning(fmt::format(
      "micro-batches of {} samples leave {:.0f} % of the vector lanes without work: {} {} fills them (and "
      "changes the result)",
      samples, 100.0 * (1.0 - used_lanes(samples)), flag_of(&BatchOptions::micro_batches),
      default_micro_batches(batch)));
}

/// Tells that a few GPUs are faster with fewer micro-batches than the default ones.
void tell_of_small_micro_batches(const World& world, const TrainOptions& options, const Trainer& trainer) {
  const int automatic = trainer.micro_batches(), samples = options.training.batch.size / automatic;
  if (options.output.quiet || options.training.batch.micro_batches != 0 || samples >= 128) return;
  if (trainer.device() != DeviceKind::cuda || automatic < 2 * world.size()) return;
  if (options.training.batch.size % world.size() != 0) return;
  print_message(
      fmt::format("{} micro-batches of {} samples, so that up to {} GPUs compute the same bits; {} {} is "
                  "faster here, and "
                  "has another digest",
                  automatic, samples, automatic, flag_of(&BatchOptions::micro_batches), world.size()));
}

std::string environment_of(Environment environment, const World& world, const Trainer& trainer,
                           DataType dtype, int argc, char** argv) {
  environment.lockstep = version();
  environment.mpi = world.library();
  environment.image_libraries = {jpeg_library(), png_library()};
  environment.simd = trainer.processor();
  environment.hosts = {world.host()};
  environment.ranks = world.size();
  environment.threads = trainer.threads();
  environment.command_line.assign(argv, argv + argc);
  environment.more = {{"host_count", std::to_string(world.hosts())},
                      {"micro_batches", std::to_string(trainer.micro_batches())},
                      {"exchange", trainer.transport()},
                      {"device", name_of(trainer.device())},
                      {"dtype", name_of(dtype)},
                      {"reduce", name_of(trainer.reduce())}};
  return environment_json(environment);
}

/// Name of the data set whose accuracy decides which epoch is the best.
std::string judging_set(const TrainOptions& options) {
  return options.data.validation_fraction > 0.0 ? "validation" : "test";
}

/// Tells that models are selected on the test set, on which they then look better than they are.
void tell_of_selection(const TrainOptions& options) {
  const bool selects = options.training.early_stopping > 0 || !options.output.keeps_nothing();
  if (options.output.quiet || !selects || options.data.validation_fraction > 0.0) return;
  print_message(fmt::format(
      "best.safetensors and {} select on the test set; {} 0.1 holds out a part of the training set for that",
      flag_of(&TrainerOptions::early_stopping), flag_of(&DatasetOptions::validation_fraction)));
}

void save_best(const RunDirectory& directory, const TrainOptions& options, const Trainer& trainer) {
  const BestEpoch best = trainer.best();
  trainer.save(directory.best(), {{"epoch", std::to_string(best.epoch)},
                                  {judging_set(options) + "_accuracy", fmt::format("{}", best.accuracy)}});
}

void warn_of_checkpoint(const CheckpointReport& checkpoint) {
  print_warning(checkpoint.remark);
  if (checkpoint.failure.empty()) return;
  print_warning(
      fmt::format("no checkpoint of step {}: {}; the run goes on", checkpoint.step, checkpoint.failure));
}

/// Connects the trainer's reports to the recorder of rank 0, and keeps the best model.
void observe(Trainer& trainer, Recorder& recorder, DataWarnings& warnings, StopRequests& stops,
             const TrainOptions& options, const RunPlace& place, const Dataset& train) {
  trainer.on_step = [&](const StepReport& step) { recorder.on_step(step); };
  trainer.on_epoch = [&](const EpochReport& epoch) {
    warnings.look_at(epoch);
    recorder.on_epoch(epoch);
    if (epoch.best && place.keeps()) {
      recorder.attempt([&] { save_best({place.directory}, options, trainer); });
    }
  };
  trainer.on_not_finite = [&](const NotFiniteReport& report) {
    recorder.on_not_finite(report);
    tell_of_not_finite(report, train, place.directory, recorder);
  };
  trainer.on_digest = [&](const DigestReport& digest) { recorder.on_digest(digest); };
  trainer.on_straggler = [&](const StragglerReport& straggler) {
    print_warning(message_of(straggler));
    recorder.on_straggler(straggler);
  };
  trainer.on_checkpoint = [&](const CheckpointReport& checkpoint) {
    warn_of_checkpoint(checkpoint);
    stops.expect_end(2.0 * checkpoint.write_seconds + 1.0);  // of the checkpoint in progress, and the last
    recorder.on_checkpoint(checkpoint);
  };
}

/// Prints the best epoch on stderr, as stdout is for results only.
void print_best(const TrainOptions& options, const Trainer& trainer) {
  const BestEpoch best = trainer.best();
  if (options.output.quiet || best.epoch == 0) return;
  if (trainer.stopped_early()) {
    print_message(fmt::format("no better {} accuracy for {} epoch{}: stopped early", judging_set(options),
                              options.training.early_stopping,
                              options.training.early_stopping == 1 ? "" : "s"));
  }
  print_message(
      fmt::format("best epoch {}: {} accuracy {:.4f}", best.epoch, judging_set(options), best.accuracy));
}

/// Facts that a digest depends on, beside the options that change the training.
std::string digest_note(const World& world, const TrainOptions& options, const Trainer& trainer) {
  std::string note = trainer.processors();
  if (note != "CPU") note += fmt::format(", {}", name_of(options.training.execution.dtype));
  note += fmt::format(", {} micro-batch{}, {}", trainer.micro_batches(),
                      trainer.micro_batches() == 1 ? "" : "es", name_of(trainer.reduce()));
  if (trainer.reduce() == Reduce::ring && world.size() > 1) {
    note += fmt::format(" on {} ranks: another number of ranks gives another digest", world.size());
  }
  return note;
}

/// Options in which the automatic values that affect the result are replaced by those of this run.
TrainOptions resolved(TrainOptions options, const Trainer& trainer) {
  options.training.batch.micro_batches = trainer.micro_batches();
  options.training.execution.device = trainer.device();
  options.training.reduce = trainer.reduce();
  return options;
}

void make_run_directory(const TrainOptions& options, const RunPlace& place, const Trainer& trainer,
                        const std::string& environment) {
  const RunDirectory directory = create_run_directory(
      place.directory, train_config(resolved(options, trainer)), environment, place.continues);
  if (place.continues) cut_metrics(directory, trainer.step(), trainer.epochs());
  tell_launcher(place);
  const std::string engines = trainer.engines();
  if (!engines.empty()) write_text_file(directory.plans(), engines);
}

/// Options that affect the result and are not the trainer's: those of the network and of the data.
Facts result_options(const TrainOptions& options) {
  Facts facts;
  for (const auto& texts : {texts_of(options.model), texts_of(options.data)}) {
    for (const OptionText& text : texts) {
      if (text.field.scope == Scope::result && has_effect(texts, text)) {
        facts.emplace_back(text.field.name, text.value);
      }
    }
  }
  return facts;
}

/// Tells where the run is kept, and where it goes on.
void print_place(const TrainOptions& options, const RunPlace& place, const Trainer& trainer) {
  const std::string directory = place.directory.string();
  if (!place.checkpoint.empty()) {
    print_message(fmt::format("{} {} from step {}{}", place.continues ? "run directory" : "new run directory",
                              directory, trainer.step(), trainer.done() ? ": nothing to do" : ""));
  } else if (place.keeps()) {
    print_message("run directory " + directory);
  } else if (options.output.save_model.empty()) {
    print_message(
        fmt::format("nothing is kept of this run ({} none)", flag_of(&OutputOptions::run_directory)));
  }
}

/// Writes the results of the run, on rank 0. Models come first, as writing the record may fail.
void finish(const World& world, const TrainOptions& options, const RunPlace& place, const Trainer& trainer,
            Recorder& recorder) {
  if (!options.output.save_model.empty()) recorder.attempt([&] { trainer.save(options.output.save_model); });
  if (place.keeps()) {
    recorder.attempt([&] { trainer.save(RunDirectory{place.directory}.final_model()); });
  }
  recorder.on_end({.digest = trainer.digest(), .note = digest_note(world, options, trainer)});
  recorder.flush();
  print_best(options, trainer);
  recorder.rethrow();
}

/// Ends a run that was stopped. Returns the exit status. Collective.
int end_stopped(const World& world, const StopRequests& stops, const RunPlace& place, const Trainer& trainer,
                Recorder& recorder) {
  const std::string reason = stops.reason(world);
  recorder.flush();  // a failure is printed; the status remains that of the stop
  if (world.rank() == 0) print_message(stop_line(reason, trainer.step(), place.directory.string()));
  return static_cast<int>(Category::stopped);
}

int train(World& world, const TrainOptions& options, StopRequests& stops, int argc, char** argv) {
  Watch& watch = watch_of(world);
  const ExecutionOptions& execution = options.training.execution;
  watch.set_limits(hang_limits(execution.hang_limit.seconds, execution.watchdog));
  const Environment environment = this_environment();  // before the trainer binds this thread to a core
  world.agree([&] {
    if (world.rank() == 0 && !options.output.save_model.empty())
      check_model_file_writable(options.output.save_model);
  });
  const DatasetPair data = open_dataset(world, options.data);
  std::unique_ptr<Network> network;
  world.agree([&] { network = make_model(options.model.name, data.train->shape(), data.train->classes()); });
  Trainer trainer(world, *network, *data.train, *data.test, trainer_options(options), data.validation.get());
  RunLock lock(world.host());
  const RunPlace place = find_run_place(world, options, lock);
  if (place.checkpoint.empty() && !options.init_from.empty()) {
    std::optional<ModelFile> file;
    world.agree([&] { file = ModelFile::read(options.init_from); });
    trainer.load(*file, options.load);
  }

  const Facts description = result_options(options);
  if (!place.checkpoint.empty()) {
    const auto remarks = trainer.resume(place.checkpoint, description, options.force);
    for (const std::string& remark : remarks) print_warning(remark);
  }

  const bool prints = world.rank() == 0;
  std::optional<Recorder> recorder;
  DataWarnings warnings(options);
  world.agree([&] {
    if (prints && place.keeps()) {
      make_folder(place.directory);
      lock.take(place.directory);
      make_run_directory(
          options, place, trainer,
          environment_of(environment, world, trainer, options.training.execution.dtype, argc, argv));
    }
    recorder.emplace(make_recorder(options.output, place.directory,
                                   {.rank = world.rank(), .ranks = world.size(), .host = world.host()}));
  });
  watch.set_report_folder(place.directory);
  if (place.keeps()) watch.set_advice(resume_advice(place.directory.string()));
  if (prints) {
    print_warning(data.train->skipped_files());
    print_warning(data.test->skipped_files());
    if (!options.output.quiet) {
      print_summary(world, options, trainer);
      print_place(options, place, trainer);
    }
    tell_of_selection(options);
    warn_of_idle_executors(world, options, trainer);
    warn_of_empty_lanes(options, trainer);
    tell_of_small_micro_batches(world, options, trainer);
    observe(trainer, *recorder, warnings, stops, options, place, *data.train);
  } else if (!recorder->empty()) {
    trainer.on_step = [&](const StepReport& step) { recorder->on_step(step); };
  }
  if (place.keeps()) {
    trainer.write_checkpoints(RunDirectory{place.directory}.checkpoints(), options.checkpoints, description);
  }
  stops.set_limit(options.max_time);
  trainer.ask = [&] { return stops.ask(); };
  trainer.act = [&](Request request) {
    recorder->flush();  // so that the record of a checkpoint's steps is complete
    stops.carried_out(request);
  };
  stops.wait_for_boundaries();
  trainer.fit();
  if (stops.stopped() && !trainer.done()) return end_stopped(world, stops, place, trainer, *recorder);
  world.agree([&] {
    if (prints) finish(world, options, place, trainer, *recorder);
  });
  return 0;
}

}  // namespace

int run_train(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed stdout fails a write, but does not end the run
  TrainOptions options;
  OptionSet set = train_option_set(options);
  StopRequests stops;
  return run_on_ranks(set, argc, argv,
                      [&](World& world) { return train(world, options, stops, argc, argv); });
}

}  // namespace lockstep
