#pragma once

#include <filesystem>
#include <string>

#include "core/files/line_writer.h"
#include "run/run_record.h"

namespace lockstep::tensorboard {

/// File in which TensorBoard finds the record of a run. It follows from the record, so it is made anew
/// whenever events of the record are taken back, and is not read by lockstep. Errors are Error(resource) with
/// file and reason.
class EventFile {
 public:
  /// Writes the events of `record` to a new file in `folder`, which is created, and then empties the files
  /// that lockstep wrote there before. TensorBoard, which may be running, drops what it has read from them.
  /// It does not continue with the new file if the one that it reads is gone, so only old empty ones are
  /// removed. Metrics.jsonl has no times of day: those of the events are counted back from `end`, that of the
  /// last one in seconds since 1970, by the seconds of steps or epochs.
  EventFile(const std::filesystem::path& folder, const RunRecord& record, double end);

  const std::filesystem::path& path() const { return path_; }
  /// Adds an event that happened at `time`, in seconds since 1970; it is written by flush.
  void add(const RunEvent& event, double time);
  /// Appends whole records to the file. If this throws, a part of them may be in the file.
  void flush();

 private:
  std::filesystem::path path_;
  LineWriter file_;
  std::string pending_;
};

}  // namespace lockstep::tensorboard
