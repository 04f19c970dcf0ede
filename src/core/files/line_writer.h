#pragma once

#include <filesystem>
#include <string_view>

#include "core/files/file.h"

namespace lockstep {

/// Appends whole lines to a file, at once, but without syncing it to the disk. Errors are Error(resource)
/// with the path and the system's reason.
class LineWriter {
 public:
  /// Opens or creates `file`, and cuts off an incomplete last line, which a killed process may leave.
  explicit LineWriter(const std::filesystem::path& file);

  /// Appends `lines`, the last of which ends with a line feed. If this throws, a part of them may be in the
  /// file.
  void append(std::string_view lines);

 private:
  void cut_incomplete_line();
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path file_;
  FileDescriptor descriptor_;
};

}  // namespace lockstep
