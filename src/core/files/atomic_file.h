#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/files/file.h"
#include "core/hash.h"

namespace lockstep {

struct CommitOptions {
  /// Whether to read the new file back from the disk and compare it with the bytes that were written, before
  /// it replaces the old one.
  bool read_back = false;
};

/// Replaces a file as a whole: readers see the old file or the new one, also after a crash of the machine.
/// The new one is written beside it as FILE.XXXXXXXX.tmp, with a random name, which only a killed process
/// leaves behind. Of two writers of one file, the last to commit wins. Symbolic links are replaced, not
/// followed. Errors are Error(resource) with the path and the system's reason.
class AtomicFile {
 public:
  /// Refuses an existing `file` that is not a regular one, such as a folder or a device.
  explicit AtomicFile(const std::filesystem::path& file);
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Syncs the new file to the disk, replaces the old one, which stays if this fails, and syncs the folder.
  /// Only if the last of these fails, both an error is thrown and the file replaced.
  void commit(const CommitOptions& options = {});

  /// Number and XXH3 digest of the bytes written so far.
  std::uint64_t size() const { return size_; }
  const Digest& digest() const { return digest_; }

 private:
  void read_back();
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path file_;
  std::filesystem::path temporary_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
  Digest digest_;
  bool committed_ = false;
};

/// Replaces `file` by one that contains `text`; see AtomicFile.
void write_text_file(const std::filesystem::path& file, std::string_view text,
                     const CommitOptions& options = {});

}  // namespace lockstep
