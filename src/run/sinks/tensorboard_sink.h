#pragma once

#include <cstdint>
#include <filesystem>

#include "run/run_folder.h"
#include "run/sinks/sink.h"
#include "run/tensorboard/event_file.h"

namespace lockstep {

/// Writes the event file of the run folder `run` for TensorBoard: first the events that metrics.jsonl
/// contains, then new events, at the end of an epoch and at least once a second. Must be added after the
/// MetricsSink. After a failed write, prints a warning and writes nothing more until the end of the run.
class TensorBoardSink : public Sink {
 public:
  /// Skips steps as MetricsSink does. Throws Error(resource).
  TensorBoardSink(const std::filesystem::path& run, std::uint64_t log_interval);

  /// After a rollback, and at the end if writing has failed, rewrites the file from the record. Throws
  /// Error(resource) if that fails at the end.
  void on_event(const RunEvent& event) override;
  void flush() override;

 private:
  tensorboard::EventFile begin_file() const;
  void write(const RunEvent& event);
  /// Runs `work`, which writes; a failure stops further writes.
  template <class Work>
  void attempt(const Work& work);

  RunFolder folder_;
  std::uint64_t log_interval_;
  tensorboard::EventFile file_;
  double flushed_at_;
  bool failed_ = false;
};

}  // namespace lockstep
