#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace lockstep {

/// Replaces a file as a whole: readers see the old one or the new one, also after a crash. Writes to
/// FILE.tmp, which is gone afterwards, whatever happens. One writer per file at a time. All errors are
/// Error(resource) with the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Puts the bytes on the disk and the new file in place. Without it the old file stays.
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path file_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

}  // namespace lockstep
