#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/files/file.h"

namespace lockstep {

/// Appends whole lines to a file, or records of another kind to a new file, without buffering them and
/// without syncing the file to the disk. Errors are Error(resource) with the path and the system's reason.
class LineWriter {
 public:
  /// Opens or creates `file`, and cuts off an incomplete last line, which a killed process may have left.
  explicit LineWriter(const std::filesystem::path& file);

  /// Appends `lines`, which end with a line feed, or records. If this throws, part of them may be in the
  /// file; the next call removes that part first.
  void append(std::string_view lines);

 private:
  void cut_incomplete_line();
  void cut_to(std::uint64_t size);

  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;   ///< bytes of whole lines in the file
  bool regular_ = false;     ///< whether the file is regular, so that it can be truncated
  bool incomplete_ = false;  ///< whether a failed call may have left part of its lines
};

}  // namespace lockstep
