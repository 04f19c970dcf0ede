#pragma once

#include <cstdint>
#include <filesystem>

#include "run/run_folder.h"
#include "run/sinks/sink.h"
#include "run/tensorboard/event_file.h"

namespace lockstep {

/// Keeps the event file of the run folder `run` for TensorBoard: what metrics.jsonl has at first, and events
/// as they come, at the end of an epoch and at least once a second. Must be added after the MetricsSink.
/// After a failure to write, which is printed, the file waits until the end of the run.
class TensorBoardSink : public Sink {
 public:
  /// Skips steps as MetricsSink does. Throws Error(resource).
  TensorBoardSink(const std::filesystem::path& run, std::uint64_t log_interval);

  /// After a return to a checkpoint, and at the end if writing has failed, makes the file anew from the
  /// record. Throws Error(resource) if that fails at the end.
  void on_event(const RunEvent& event) override;
  void flush() override;

 private:
  tensorboard::EventFile begin_file() const;
  void write(const RunEvent& event);
  /// Runs work that writes; its failure stops the writing.
  template <class Work>
  void attempt(const Work& work);

  RunFolder folder_;
  std::uint64_t log_interval_;
  tensorboard::EventFile file_;
  double flushed_at_;
  bool failed_ = false;
};

}  // namespace lockstep
