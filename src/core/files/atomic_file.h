#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/files/file.h"

namespace lockstep {

/// Replaces a file as a whole: readers see the old one or the new one, also after a crash. Writes to a new
/// file FILE.XXXXXXXX.tmp beside it, with a random name, which is gone afterwards, whatever happens (a killed
/// process leaves it). Two writers of one file do not disturb each other: the last to commit wins. Symbolic
/// links are replaced, not followed. All errors are Error(resource) with the path and the system's reason.
class AtomicFile {
 public:
  /// Refuses a `file` that exists and is not a regular one: a folder, a device.
  explicit AtomicFile(const std::filesystem::path& file);
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Puts the bytes on the disk and the new file in place. Without it the old file stays.
  void commit();

 private:
  void create_temporary();
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path file_;
  std::filesystem::path temporary_;
  FileDescriptor descriptor_;
  bool committed_ = false;
};

/// Replaces `file` with one that holds `text`, by AtomicFile.
void write_text_file(const std::filesystem::path& file, std::string_view text);

}  // namespace lockstep
