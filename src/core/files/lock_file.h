#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/files/file.h"
#include "lockstep/error.h"

namespace lockstep {

/// Lock held by at most one process, across all hosts if the file system supports locks. The lock ends
/// with the object, or with the process, no matter how the process ends. Users who may not write the file
/// cannot read it either, so they cannot lock it; a group shares the lock if the umask lets the group write
/// (002).
class LockFile {
 public:
  /// Creates and locks the file `path`, and writes `holder` to it. While another process holds the lock,
  /// retries for `seconds`, because killed processes may take a moment to end; prints a warning after 5 s.
  /// Throws Error(`in_use`) with "FOLDER is in use by HOLDER" when the time is over; Error(resource) if the
  /// file is a symbolic link or cannot be written. Prints a warning and locks nothing if the file system has
  /// no locks.
  LockFile(const std::filesystem::path& path, const std::string& holder, double seconds,
           Category in_use = Category::resource);
  /// Removes the file, unless renew() could not lock it again.
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  /// If the file was removed or replaced, creates and locks it again. Throws Error(resource) if another
  /// process holds it now, FileError if it cannot be created or locked; the next call tries again.
  void renew();

 private:
  std::optional<std::string> try_to_lock();
  void write_holder() const;

  std::filesystem::path path_;
  std::string holder_;
  FileDescriptor file_;
  bool lost_ = false;  ///< whether the file was removed and could not be locked again
};

}  // namespace lockstep
