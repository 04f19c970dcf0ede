#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "core/files/file_system.h"

namespace lockstep {

/// A call that is about to be made.
struct FileCall {
  std::uint64_t number = 0;         ///< from 1, over all calls
  std::string name = {};            ///< "open", "pread", ...
  std::filesystem::path path = {};  ///< also of calls on descriptors; of rename: the old name
  bool writes = false;  ///< whether it needs room on the disk; open: whether it may create the file
};

/// Passes calls on to another file system, unless `error_of` returns an errno for them. A call of close that
/// fails closes the file. drop_cache, which cannot fail, and free_space are no calls here.
class FailingFiles : public FileSystem {
 public:
  using ErrorOf = std::function<int(const FileCall&)>;

  FailingFiles(FileSystem& inner, ErrorOf error_of) : inner_(inner), error_of_(std::move(error_of)) {}

  /// Number of calls so far.
  std::uint64_t calls() const { return calls_; }

  int open(const Path& path, int flags) override;
  int close(int descriptor) override;
  ssize_t read(int descriptor, void* data, std::size_t bytes) override;
  ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) override;
  ssize_t write(int descriptor, const void* data, std::size_t bytes) override;
  int fsync(int descriptor) override;
  int lock(int descriptor) override;
  int ftruncate(int descriptor, std::uint64_t size) override;
  int fstat(int descriptor, FileStatus& status) override;
  void drop_cache(int descriptor) override { inner_.drop_cache(descriptor); }
  int free_space(const Path& path, std::uint64_t& bytes) override { return inner_.free_space(path, bytes); }
  int stat(const Path& path, FileStatus& status) override;
  int rename(const Path& from, const Path& to) override;
  int unlink(const Path& path) override;
  int mkdir(const Path& path) override;
  int rmdir(const Path& path) override;
  int list(const Path& path, std::vector<std::string>& names) override;

 private:
  /// Whether the call fails; then errno is set.
  bool fails(const char* name, const Path& path, bool writes);
  bool fails(const char* name, int descriptor, bool writes);

  FileSystem& inner_;
  ErrorOf error_of_;
  std::mutex mutex_;
  std::uint64_t calls_ = 0;
  std::map<int, Path> open_;
};

/// For FailingFiles: call `number` fails with `reason`.
inline FailingFiles::ErrorOf fail_call(std::uint64_t number, int reason) {
  return [=](const FileCall& call) { return call.number == number ? reason : 0; };
}

/// For FailingFiles: call `number` and all later ones fail with `reason`.
inline FailingFiles::ErrorOf fail_from_call(std::uint64_t number, int reason) {
  return [=](const FileCall& call) { return call.number >= number ? reason : 0; };
}

}  // namespace lockstep
