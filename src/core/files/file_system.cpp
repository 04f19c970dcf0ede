#include "core/files/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "core/files/file.h"

namespace lockstep {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

/// Whether an entry of `folder` is a folder, not a link to one.
bool is_folder_entry(DIR* folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat found {};
  return ::fstatat(::dirfd(folder), entry.d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode);
}

FileStatus status_of(const struct stat& status) {
  const FileKind kind = S_ISREG(status.st_mode)   ? FileKind::file
                        : S_ISDIR(status.st_mode) ? FileKind::folder
                                                  : FileKind::other;
  return {kind,
          static_cast<std::uint64_t>(status.st_size),
          status.st_dev,
          status.st_ino,
          static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec),
          status.st_nlink};
}

class SystemFiles : public FileSystem {
 public:
  int open(const Path& path, int flags) override { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }
  int open_private(const Path& path, int flags) override {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0622);
    struct stat found {};
    if (descriptor < 0 || ::fstat(descriptor, &found) != 0) return descriptor;
    const mode_t mode = found.st_mode & 0777;
    const mode_t readable = mode | ((mode & 0022) << 1);
    if (readable != mode)
      ::fchmod(descriptor, readable);  // fails for another user's file, whose mode then stays
    return descriptor;
  }
  int close(int descriptor) override { return ::close(descriptor); }
  ssize_t read(int descriptor, void* data, std::size_t bytes) override {
    return ::read(descriptor, data, bytes);
  }
  ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) override {
    return ::pread(descriptor, data, bytes, static_cast<off_t>(offset));
  }
  ssize_t write(int descriptor, const void* data, std::size_t bytes) override {
    return ::write(descriptor, data, bytes);
  }
  int fsync(int descriptor) override { return ::fsync(descriptor); }
  int lock(int descriptor) override { return ::flock(descriptor, LOCK_EX | LOCK_NB); }
  int ftruncate(int descriptor, std::uint64_t size) override {
    return ::ftruncate(descriptor, static_cast<off_t>(size));
  }
  int fstat(int descriptor, FileStatus& status) override {
    struct stat found {};
    if (::fstat(descriptor, &found) != 0) return -1;
    status = status_of(found);
    return 0;
  }
  void drop_cache(int descriptor) override { ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED); }

  int free_space(const Path& path, std::uint64_t& bytes) override {
    struct statvfs found {};
    if (::statvfs(path.c_str(), &found) != 0) return -1;
    bytes = std::uint64_t{found.f_bavail} * found.f_frsize;
    return 0;
  }

  int stat(const Path& path, FileStatus& status) override {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return -1;
    status = status_of(found);
    return 0;
  }
  int rename(const Path& from, const Path& to) override { return ::rename(from.c_str(), to.c_str()); }
  int unlink(const Path& path) override { return ::unlink(path.c_str()); }
  int mkdir(const Path& path) override { return ::mkdir(path.c_str(), 0777); }
  int rmdir(const Path& path) override { return ::rmdir(path.c_str()); }
  int list(const Path& path, std::vector<std::string>& names, std::vector<std::string>* folders) override {
    const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
    if (!folder) return -1;
    names.clear();
    if (folders != nullptr) folders->clear();
    errno = 0;  // readdir returns null at the end and for an error
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      names.push_back(name);
      if (folders != nullptr && is_folder_entry(folder.get(), *entry)) folders->push_back(name);
      errno = 0;
    }
    return errno == 0 ? 0 : -1;
  }
};

std::atomic<FileSystem*>& files_in_use() {
  static std::atomic<FileSystem*> in_use = &system_files();
  return in_use;
}

bool has_kind(const std::filesystem::path& path, FileKind kind) {
  FileStatus status;
  return files().stat(path, status) == 0 && status.kind == kind;
}

}  // namespace

FileSystem& system_files() {
  static SystemFiles instance;
  return instance;
}

FileSystem& files() { return *files_in_use().load(std::memory_order_relaxed); }

ScopedFiles::ScopedFiles(FileSystem& replacement) : before_(*files_in_use().exchange(&replacement)) {}

ScopedFiles::~ScopedFiles() { files_in_use() = &before_; }

bool is_folder(const std::filesystem::path& path) { return has_kind(path, FileKind::folder); }
bool is_file(const std::filesystem::path& path) { return has_kind(path, FileKind::file); }

bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  FileStatus first, second;
  return files().stat(one, first) == 0 && files().stat(other, second) == 0 && first.is_same_file(second);
}

FileKind file_kind(const std::filesystem::path& path, std::optional<Category> failure) {
  FileStatus status;
  if (files().stat(path, status) == 0) return status.kind;
  if (errno == ENOENT || errno == ENOTDIR) return FileKind::missing;
  fail_file(path, "access", failure.value_or(category_of_failure(errno)));
}

}  // namespace lockstep
