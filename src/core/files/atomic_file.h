#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "core/files/file.h"
#include "core/hash.h"

namespace lockstep {

/// Replaces a file atomically: readers see either the complete old or the complete new file, even after a
/// crash of the machine. The new file is written in the same folder as FILE.XXXXXXXX.tmp, with a random name.
/// If two writers replace the same file, the last to commit wins. Symbolic links are replaced, not followed.
/// Errors are Error(resource) with the path and the system's reason.
///
/// The temporary file is locked while its writer lives, so that the next writer of `file` can find and remove
/// the files that killed writers left. On a file system without locks, these files stay.
class AtomicFile {
 public:
  /// Refuses an empty name, and an existing `file` that is not a regular one, such as a folder or a device.
  /// Removes temporary files of killed writers of `file`.
  explicit AtomicFile(const std::filesystem::path& file);
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Syncs the new file to the disk, replaces the old file, and syncs the folder. After an error the old file
  /// is unchanged, unless only syncing the folder failed.
  void commit();
  /// Same as commit, but before replacing the old file reads the new one back from the disk and compares it
  /// with the written bytes.
  void verify_and_commit();

  /// Number and XXH3 digest of the bytes written so far.
  std::uint64_t size() const { return size_; }
  const Digest& digest() const { return digest_; }

 private:
  bool create(const std::filesystem::path& name);
  void sync();
  void read_back();
  void replace();

  std::filesystem::path file_;
  std::filesystem::path temporary_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
  Digest digest_;
  bool committed_ = false;
};

/// Atomically replaces the contents of `file` with `text`; see AtomicFile.
void write_text_file(const std::filesystem::path& file, std::string_view text);

/// Removes temporary files that killed writers left in `folder`. `owns`: whether the caller owns the file
/// with this name, which lacks the temporary ending. Does not throw: files that cannot be removed stay.
void remove_leftovers(const std::filesystem::path& folder,
                      const std::function<bool(std::string_view name)>& owns);

}  // namespace lockstep
