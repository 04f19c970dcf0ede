#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/text/message.h"
#include "lockstep/field.h"
#include "lockstep/period.h"
#include "run/sinks/progress_text.h"
#include "run/sinks/sink.h"

namespace lockstep {

/// Passes events to sinks, in the order in which they were added. A sink that fails does not end the run: a
/// warning is printed, and the sink receives no more events.
class Recorder {
 public:
  void add(std::unique_ptr<Sink> sink);
  /// Whether no sink receives events.
  bool empty() const { return sinks_.empty(); }
  void on_event(const RunEvent& event);
  void flush();
  /// Runs other work that writes; a failure becomes a warning. The result and `file` are as in
  /// DeferredError::attempt.
  bool attempt(const std::function<void()>& work, const std::string& file = {}) {
    return failures_.attempt(work, file);
  }
  /// Throws the first failure of a sink or an attempt that was not cleared, if any.
  void rethrow() const { failures_.rethrow(); }

 private:
  void for_each_sink(const std::function<void(Sink&)>& pass_on);

  std::vector<std::unique_ptr<Sink>> sinks_;
  DeferredError failures_;
};

/// Line on stderr that shows the step; automatic: if stderr is a terminal.
enum class ProgressLine { automatic, on, off };
inline Names choices_of(ProgressLine) { return {"auto", "on", "off"}; }

/// Ranks that print log lines.
enum class LogRanks { first, all };
inline Names choices_of(LogRanks) { return {"0", "all"}; }

/// Options for the output of a run, mostly that of rank 0, as `visit` describes them.
struct OutputOptions {
  std::string run_directory = "auto";  ///< auto: a new folder in runs/; none: nothing is kept
  std::string save_model;
  int log_interval = 1;
  bool tensorboard = false;
  ProgressLine progress = ProgressLine::automatic;
  Period log_every = {.time = {.seconds = 60.0}};
  LogRanks log_ranks = LogRanks::first;
  bool quiet = false;

  bool keeps_nothing() const { return run_directory == "none"; }
  bool operator==(const OutputOptions&) const = default;
};

template <OptionsOf<OutputOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [run_directory, save_model, log_interval, tensorboard, progress, log_every, log_ranks, quiet] =
      options;
  field(
      run_directory,
      {.name = "run-dir",
       .help = "folder for the record of the run: options.cfg, environment.json, metrics.jsonl, report.html, "
               "and checkpoints/ with the final and the best model; auto: runs/MODEL-DATASET-N, N being the "
               "number after the largest one; none: keep nothing",
       .group = "Output",
       .placeholder = "DIR",
       .scope = Scope::local});
  field(save_model,
        {.name = "save-model",
         .help = "file (safetensors) for the trained parameters, with --model-ema for their average",
         .placeholder = "FILE",
         .scope = Scope::local});
  field(log_interval,
        {.name = "log-interval",
         .help = "write every Nth step to metrics.jsonl; CUDA: above 1, also the maximum number "
                 "of steps submitted together (1000 at most), otherwise 512",
         .range = {.min = 1},
         .scope = Scope::local});
  field(tensorboard,
        {.name = "tensorboard",
         .help = "write event files for TensorBoard to DIR/tensorboard during the run: numbers of steps and "
                 "epochs, options and, with up to 100 classes, the confusion matrix of each epoch",
         .scope = Scope::protocol});
  field(progress, {.name = "progress",
                   .help = "line on stderr that shows the current step; auto: if stderr is a terminal",
                   .scope = Scope::local});
  field(log_every, {.name = "log-every",
                    .help = "if stderr is not a terminal, print a line with step, loss, learning rate, speed "
                            "and time left each N steps or TIME (the first one after 10s, in a long run)",
                    .scope = Scope::local,
                    .zero = "never"});
  field(log_ranks,
        {.name = "log-ranks",
         .help = "ranks that print these lines; all: each rank, with its number and its host, also "
                 "on a terminal",
         .scope = Scope::local});
  field(quiet, {.name = "quiet",
                .help = "print only warnings and the final digest: no progress line, epochs or log",
                .scope = Scope::local});
}

/// Rank that a recorder belongs to, and the kind of samples that the run trains on.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  std::string host = {};
  SampleKind samples = SampleKind::image;
};

/// Recorder of a rank. Rank 0 writes lines to stdout, progress or a log to stderr and, in the run directory
/// `run`, which must exist, metrics.jsonl, report.html and with `tensorboard` event files. If `run` is empty,
/// no record is kept. Other ranks write logs to stderr with LogRanks::all. Throws Error(resource).
Recorder make_recorder(const OutputOptions& options, const std::filesystem::path& run,
                       const RankPlace& place = {});

}  // namespace lockstep
