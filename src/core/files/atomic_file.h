#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/files/file.h"

namespace lockstep {

/// Replaces a file as a whole: readers see the old file or the new one, also after a crash. The new one is
/// written beside it as FILE.XXXXXXXX.tmp, with a random name, which only a killed process leaves behind. Of
/// two writers of one file, the last to commit wins. Symbolic links are replaced, not followed. Errors are
/// Error(resource) with the path and the system's reason.
class AtomicFile {
 public:
  /// Refuses an existing `file` that is not a regular one, such as a folder or a device.
  explicit AtomicFile(const std::filesystem::path& file);
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Syncs the new file to the disk and replaces the old one, which otherwise stays.
  void commit();

 private:
  void create_temporary();
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path file_;
  std::filesystem::path temporary_;
  FileDescriptor descriptor_;
  bool committed_ = false;
};

/// Replaces `file` by one that contains `text`; see AtomicFile.
void write_text_file(const std::filesystem::path& file, std::string_view text);

}  // namespace lockstep
