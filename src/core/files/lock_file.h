#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/files/file.h"
#include "lockstep/error.h"

namespace lockstep {

/// Lock that one process at a time holds, among all hosts if the file system supports locks. It ends with the
/// object, or with the process, however that ends. Users who may not write to the file cannot take it: they
/// cannot read it either. So a group shares it if the umask lets the group write (002).
class LockFile {
 public:
  /// Creates and locks the file `path`, and writes `holder` to it. While another process holds the lock,
  /// tries again for `seconds`, as killed processes may take a moment to end, with a warning after 5 s.
  /// Throws Error(`in_use`): "FOLDER is in use by HOLDER" when the time is over; Error(resource) if the file
  /// is a symbolic link or cannot be written. Prints a warning and locks nothing if the file system has no
  /// locks.
  LockFile(const std::filesystem::path& path, const std::string& holder, double seconds,
           Category in_use = Category::resource);
  /// Removes the file, unless another process has locked it since it was removed.
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
  bool lost_ = false;  ///< whether it was removed and could not be locked again
};

}  // namespace lockstep
