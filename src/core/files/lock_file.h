#pragma once

#include <filesystem>
#include <string>

#include "core/files/file.h"

namespace lockstep {

/// A file that one process at a time has locked, among all hosts if the file system has such locks. The lock
/// ends with the object, or with the process, however that ends.
class LockFile {
 public:
  /// Locks `path`, which is created, and writes to it that `holder` has it. If another one has it, tries for
  /// `seconds`, as killed processes may take a moment to end; tells it where that takes longer than 5 s.
  /// Throws Error(resource), "FOLDER is in use by HOLDER", if that does not help, and if the file cannot be
  /// written. Prints a warning and locks nothing where the file system has no locks.
  LockFile(const std::filesystem::path& path, const std::string& holder, double seconds);
  /// Removes the file.
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  bool try_to_lock();
  std::string read_holder() const;

  std::filesystem::path path_;
  FileDescriptor file_;
};

}  // namespace lockstep
