#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

enum class FileKind { missing, file, folder, other };

struct FileStatus {
  FileKind kind = FileKind::missing;
  std::uint64_t size = 0;  ///< in bytes, of a file
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  ///< two paths with equal device and inode lead to the same file
};

/// The system calls through which the program uses files and folders, so that tests can put faults into each
/// of them. Each call does what POSIX says of the one of its name, and fails with -1 and errno. Symbolic
/// links are followed, except by rename and unlink. Safe from any thread. Files of the kernel (/proc, /sys,
/// memfd) are used directly.
class FileSystem {
 public:
  using Path = std::filesystem::path;

  FileSystem() = default;
  virtual ~FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  /// `flags` as in <fcntl.h>; O_CLOEXEC is added. A new file may be read and written by all whom the umask
  /// allows.
  virtual int open(const Path& path, int flags) = 0;
  virtual int close(int descriptor) = 0;
  virtual ssize_t read(int descriptor, void* data, std::size_t bytes) = 0;
  virtual ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) = 0;
  virtual ssize_t write(int descriptor, const void* data, std::size_t bytes) = 0;
  virtual int fsync(int descriptor) = 0;
  /// Locks a file against all other opened ones of it, until the descriptor is closed, however this process
  /// ends. Fails with EWOULDBLOCK at once where it is locked.
  virtual int lock(int descriptor) = 0;
  virtual int ftruncate(int descriptor, std::uint64_t size) = 0;
  virtual int fstat(int descriptor, FileStatus& status) = 0;
  /// Lets the system forget its copy in memory of a file that is synced, so that the disk is read next. A
  /// hint.
  virtual void drop_cache(int descriptor) = 0;
  /// Sets `bytes` to those that this process may still write to the file system of `path`, which exists.
  virtual int free_space(const Path& path, std::uint64_t& bytes) = 0;

  virtual int stat(const Path& path, FileStatus& status) = 0;
  virtual int rename(const Path& from, const Path& to) = 0;
  virtual int unlink(const Path& path) = 0;
  virtual int mkdir(const Path& path) = 0;
  virtual int rmdir(const Path& path) = 0;
  /// Sets `names` to those of the folder's entries, in any order, without "." and "..".
  virtual int list(const Path& path, std::vector<std::string>& names) = 0;
};

/// The operating system's.
FileSystem& system_files();
/// The one in use; the operating system's unless a test has replaced it.
FileSystem& files();

/// Replaces files() during its lifetime. For tests; no other thread may use files meanwhile.
class ScopedFiles {
 public:
  /// `replacement` must live as long as the descriptors that it opens.
  explicit ScopedFiles(FileSystem& replacement);
  ~ScopedFiles();
  ScopedFiles(const ScopedFiles&) = delete;
  ScopedFiles& operator=(const ScopedFiles&) = delete;

 private:
  FileSystem& before_;
};

/// Kind of what is at `path`. Throws Error with path and reason, and the category of category_of_failure,
/// where the system cannot tell.
FileKind file_kind(const std::filesystem::path& path);

}  // namespace lockstep
