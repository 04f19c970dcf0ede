#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "core/files/deferred_error.h"
#include "lockstep/field.h"
#include "report/sinks/sink.h"

namespace lockstep {

/// Passes reports on to sinks, in the order in which they were added. A sink that fails does not end the run:
/// a warning is printed, and the sink gets no more reports.
class Recorder {
 public:
  void add(std::unique_ptr<Sink> sink);
  void on_step(const StepEvent& event);
  void on_epoch(const EpochEvent& event);
  void on_end(const EndEvent& event);
  void flush();
  /// Runs other work that writes; a failure becomes a warning.
  void attempt(const std::function<void()>& work) { failures_.attempt(work); }
  /// Throws the first failure of a sink or an attempt.
  void rethrow() const { failures_.rethrow(); }

 private:
  void for_each_sink(const std::function<void(Sink&)>& pass_on);

  std::vector<std::unique_ptr<Sink>> sinks_;
  DeferredError failures_;
};

/// Line on stderr that shows the step; automatic: if stderr is a terminal.
enum class ProgressLine { automatic, on, off };
inline Names choices_of(ProgressLine) { return {"auto", "on", "off"}; }

struct RecorderOptions {
  std::filesystem::path run_directory{};  ///< made by create_run_directory; empty: nothing is written
  std::uint64_t log_interval = 1;         ///< every n-th step is written to metrics.jsonl
  bool quiet = false;                     ///< of the lines, the digest only; no progress
  ProgressLine progress = ProgressLine::automatic;
};

/// The usual sinks of rank 0: lines on stdout, progress on stderr, metrics.jsonl and report.html in the run
/// directory. Throws Error(resource).
Recorder make_recorder(const RecorderOptions& options);

}  // namespace lockstep
