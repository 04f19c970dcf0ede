#pragma once

#include <filesystem>
#include <string>

#include "core/files/line_writer.h"
#include "run/run_record.h"

namespace lockstep::tensorboard {

/// The record of a run as a file for TensorBoard. The file is derived from the record and rewritten whenever
/// events are removed from the record; lockstep never reads it. Errors are Error(resource) with file and
/// reason.
class EventFile {
 public:
  /// Writes the events of `record` to a new file in `folder`, which is created if missing, and then empties
  /// the files that lockstep wrote there before, so that a running TensorBoard drops what it has read from
  /// them. TensorBoard does not continue with the new file if the file that it reads is gone, so only old
  /// empty files are removed. metrics.jsonl has no wall-clock times: they are computed from the durations of
  /// steps or epochs, backwards from `end`, the time of the last event in seconds since 1970.
  EventFile(const std::filesystem::path& folder, const RunRecord& record, double end);

  const std::filesystem::path& path() const { return path_; }
  /// Adds an event that happened at `time`, in seconds since 1970; flush writes it.
  void add(const RunEvent& event, double time);
  /// Appends whole records to the file. If this throws, part of them may be in the file.
  void flush();

 private:
  std::filesystem::path path_;
  LineWriter file_;
  std::string pending_;
};

}  // namespace lockstep::tensorboard
