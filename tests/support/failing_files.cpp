#include "support/failing_files.h"

#include <fcntl.h>

namespace lockstep {

bool FailingFiles::fails(const char* name, const Path& path, bool writes) {
  FileCall call{.name = name, .path = path, .writes = writes};
  {
    const std::lock_guard lock(mutex_);
    call.number = ++calls_;
  }
  const int reason = error_of_(call);
  if (reason != 0) errno = reason;
  return reason != 0;
}

bool FailingFiles::fails(const char* name, int descriptor, bool writes) {
  Path path;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(descriptor);
    if (found != open_.end()) path = found->second;
  }
  return fails(name, path, writes);
}

int FailingFiles::open(const Path& path, int flags) {
  if (fails("open", path, (flags & O_CREAT) != 0)) return -1;
  const int descriptor = inner_.open(path, flags);
  const std::lock_guard lock(mutex_);
  if (descriptor >= 0) open_[descriptor] = path;
  return descriptor;
}

int FailingFiles::close(int descriptor) {
  const bool failed = fails("close", descriptor, true);
  const int reason = errno;
  {
    const std::lock_guard lock(mutex_);
    open_.erase(descriptor);
  }
  const int result = inner_.close(descriptor);
  if (failed) errno = reason;
  return failed ? -1 : result;
}

ssize_t FailingFiles::read(int descriptor, void* data, std::size_t bytes) {
  return fails("read", descriptor, false) ? -1 : inner_.read(descriptor, data, bytes);
}

ssize_t FailingFiles::pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) {
  return fails("pread", descriptor, false) ? -1 : inner_.pread(descriptor, data, bytes, offset);
}

ssize_t FailingFiles::write(int descriptor, const void* data, std::size_t bytes) {
  return fails("write", descriptor, true) ? -1 : inner_.write(descriptor, data, bytes);
}

int FailingFiles::lock(int descriptor) {
  return fails("lock", descriptor, false) ? -1 : inner_.lock(descriptor);
}

int FailingFiles::fsync(int descriptor) {
  return fails("fsync", descriptor, true) ? -1 : inner_.fsync(descriptor);
}

int FailingFiles::ftruncate(int descriptor, std::uint64_t size) {
  return fails("ftruncate", descriptor, true) ? -1 : inner_.ftruncate(descriptor, size);
}

int FailingFiles::fstat(int descriptor, FileStatus& status) {
  return fails("fstat", descriptor, false) ? -1 : inner_.fstat(descriptor, status);
}

int FailingFiles::stat(const Path& path, FileStatus& status) {
  return fails("stat", path, false) ? -1 : inner_.stat(path, status);
}

int FailingFiles::rename(const Path& from, const Path& to) {
  return fails("rename", from, true) ? -1 : inner_.rename(from, to);
}

int FailingFiles::unlink(const Path& path) { return fails("unlink", path, false) ? -1 : inner_.unlink(path); }

int FailingFiles::mkdir(const Path& path) { return fails("mkdir", path, true) ? -1 : inner_.mkdir(path); }

int FailingFiles::rmdir(const Path& path) { return fails("rmdir", path, false) ? -1 : inner_.rmdir(path); }

int FailingFiles::list(const Path& path, std::vector<std::string>& names) {
  return fails("list", path, false) ? -1 : inner_.list(path, names);
}

}  // namespace lockstep
