#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/files/line_writer.h"
#include "run/sinks/sink.h"

namespace lockstep {

/// Appends events to metrics.jsonl as whole lines, at the end of an epoch and at least once a second. While
/// the file cannot be written, lines and cuts wait in memory and each flush retries; a warning is printed,
/// and a message after the recovery. Beyond 16 MiB, lines of steps are left out.
class MetricsSink : public Sink {
 public:
  /// Opens `file` for appending, and cuts off an incomplete last line of an interrupted run. Skips steps
  /// whose number is not a multiple of `log_interval`. Throws Error(resource).
  MetricsSink(const std::filesystem::path& file, std::uint64_t log_interval);
  ~MetricsSink() override;
  MetricsSink(const MetricsSink&) = delete;
  MetricsSink& operator=(const MetricsSink&) = delete;

  /// After a rollback to a checkpoint, first cuts off lines of later steps and epochs. Throws Error(resource)
  /// with file and reason if lines cannot be written at EndReport.
  void on_event(const RunEvent& event) override;
  void flush() override;

 private:
  /// Arguments of RunFolder::cut_record after a rollback to a checkpoint.
  struct Cut {
    std::size_t after = 0;  ///< number of bytes of `pending_` that precede the cut
    std::uint64_t step = 0;
    int epoch = 0;
    std::uint64_t passed = 0;
  };

  void write();
  /// Appends the bytes of `pending_` up to `end` that are not in the file yet.
  void append_until(std::size_t end);

  std::filesystem::path path_;
  LineWriter file_;
  std::uint64_t log_interval_;
  fmt::memory_buffer pending_;
  std::size_t written_ = 0;  ///< bytes of `pending_` in the file; above 0 only if a later cut or write failed
  std::vector<Cut> cuts_;    ///< pending cuts, in order
  double flushed_at_ = 0.0;
  bool failing_ = false;
  std::size_t left_out_ = 0;  ///< lines of steps left out since the last successful write
};

}  // namespace lockstep
