#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include "core/files/line_writer.h"
#include "report/sinks/sink.h"

namespace lockstep {

// Lines of metrics.jsonl, appended to `text`. Numbers have 9 significant digits, NaN and infinity are null.
// Nothing is allocated once `text` is large enough.
void append_line(fmt::memory_buffer& text, const StepReport& event);
void append_line(fmt::memory_buffer& text, const EpochReport& event);
void append_line(fmt::memory_buffer& text, const DigestReport& event);
void append_line(fmt::memory_buffer& text, const StragglerReport& event);
void append_line(fmt::memory_buffer& text, const NotFiniteReport& event);
void append_line(fmt::memory_buffer& text, const CheckpointReport& event);
void append_line(fmt::memory_buffer& text, const EndReport& event);

/// Appends events to metrics.jsonl as whole lines: at the end of an epoch and at least once a second.
class MetricsSink : public Sink {
 public:
  /// Opens `file` for appending, and cuts off an incomplete last line of an interrupted run. Skips steps
  /// whose number is not a multiple of `log_interval`. Throws Error(resource).
  MetricsSink(const std::filesystem::path& file, std::uint64_t log_interval);
  ~MetricsSink() override;
  MetricsSink(const MetricsSink&) = delete;
  MetricsSink& operator=(const MetricsSink&) = delete;

  void on_step(const StepReport& event) override;
  void on_epoch(const EpochReport& event) override;
  void on_digest(const DigestReport& event) override;
  void on_straggler(const StragglerReport& event) override;
  /// After a return to a checkpoint, first cuts off what was said of later steps and epochs.
  void on_not_finite(const NotFiniteReport& event) override;
  void on_checkpoint(const CheckpointReport& event) override;
  void on_end(const EndReport& event) override;
  /// Throws Error(resource) with file and reason.
  void flush() override;

 private:
  std::filesystem::path path_;
  LineWriter file_;
  std::uint64_t log_interval_;
  fmt::memory_buffer pending_;
  double flushed_at_ = 0.0;
};

}  // namespace lockstep
