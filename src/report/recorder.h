#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "report/sink.h"

namespace lockstep {

/// Passes events on to sinks, in the order in which these were added.
class Recorder {
 public:
  void add(std::unique_ptr<Sink> sink);
  void on_step(const StepEvent& event);
  void on_epoch(const EpochEvent& event);
  void on_end(const EndEvent& event);
  void flush();

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;
};

/// The line that shows the step, on stderr; automatic: where stderr is a terminal.
enum class Progress { automatic, on, off };

struct RecorderOptions {
  std::filesystem::path run_directory{};  ///< made by create_run_directory; empty: nothing is written
  std::uint64_t log_interval = 1;         ///< every n-th step is written to metrics.jsonl
  bool quiet = false;                     ///< of the lines, the digest only; no progress
  Progress progress = Progress::automatic;
};

/// The usual sinks of rank 0: lines on stdout, progress on stderr, metrics.jsonl and report.html in the run
/// directory. Throws Error(resource).
Recorder make_recorder(const RecorderOptions& options);

}  // namespace lockstep
