#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

enum class FileKind { missing, file, folder, other };

struct FileStatus {
  FileKind kind = FileKind::missing;
  std::uint64_t size = 0;  ///< in bytes, of a file
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  double modified = 0.0;    ///< time of the last change, in seconds since 1970
  std::uint64_t links = 1;  ///< 0: the file was removed and only a descriptor refers to it; 1 in a simulation

  bool is_same_file(const FileStatus& other) const { return device == other.device && inode == other.inode; }
};

/// The system calls that the program uses to access files and folders; tests replace them to inject faults.
/// Each call behaves as the POSIX function of its name, and fails with -1 and errno. Symbolic links are
/// followed, except by rename and unlink. Safe from any thread. Kernel files (/proc, /sys, memfd) are
/// accessed directly.
class FileSystem {
 public:
  using Path = std::filesystem::path;

  FileSystem() = default;
  virtual ~FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  /// `flags` as in <fcntl.h>; O_CLOEXEC is added. A new file gets mode 0666, restricted by the umask.
  virtual int open(const Path& path, int flags) = 0;
  /// Same as open, but a new file is readable only by users whom the umask allows to write it: its owner and,
  /// with umask 002, its group. The default is for simulations, where files have no owners.
  virtual int open_private(const Path& path, int flags) { return open(path, flags); }
  virtual int close(int descriptor) = 0;
  virtual ssize_t read(int descriptor, void* data, std::size_t bytes) = 0;
  virtual ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) = 0;
  virtual ssize_t write(int descriptor, const void* data, std::size_t bytes) = 0;
  virtual int fsync(int descriptor) = 0;
  /// Locks a file exclusively until the descriptor is closed or the process ends. Fails at once with
  /// EWOULDBLOCK if the file is already locked.
  virtual int lock(int descriptor) = 0;
  virtual int ftruncate(int descriptor, std::uint64_t size) = 0;
  virtual int fstat(int descriptor, FileStatus& status) = 0;
  /// Asks the system to drop a synced file from the page cache, so that later reads come from the disk.
  virtual void drop_cache(int descriptor) = 0;
  /// Sets `bytes` to the free space of the file system that contains `path`, an existing file or folder.
  virtual int free_space(const Path& path, std::uint64_t& bytes) = 0;

  virtual int stat(const Path& path, FileStatus& status) = 0;
  virtual int rename(const Path& from, const Path& to) = 0;
  virtual int unlink(const Path& path) = 0;
  virtual int mkdir(const Path& path) = 0;
  virtual int rmdir(const Path& path) = 0;
  /// Sets `names` to the names of the folder's entries in any order, without "." and "..". If `folders` is
  /// not null, sets it to the names of the entries that are folders; a link to a folder does not count.
  virtual int list(const Path& path, std::vector<std::string>& names, std::vector<std::string>* folders) = 0;
  int list(const Path& path, std::vector<std::string>& names) { return list(path, names, nullptr); }
};

/// The file system of the operating system.
FileSystem& system_files();
/// The file system in use: system_files() unless a test has replaced it.
FileSystem& files();

/// Replaces files() during its lifetime. For tests; no other thread may use files meanwhile.
class ScopedFiles {
 public:
  /// `replacement` must outlive the descriptors that it opens.
  explicit ScopedFiles(FileSystem& replacement);
  ~ScopedFiles();
  ScopedFiles(const ScopedFiles&) = delete;
  ScopedFiles& operator=(const ScopedFiles&) = delete;

 private:
  FileSystem& before_;
};

/// Kind of the entry at `path`. If the system cannot determine it, throws Error with the path, the reason and
/// the category `failure`, which defaults to that of category_of_failure.
FileKind file_kind(const std::filesystem::path& path, std::optional<Category> failure = {});
/// Whether `path` leads to a folder or a regular file, respectively; false if that cannot be determined.
/// Reading the path then reports the reason.
bool is_folder(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);
/// Whether both paths lead to the same file or folder; false if either of them leads nowhere.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace lockstep
