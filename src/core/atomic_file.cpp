#include "core/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Makes a rename inside `directory` survive a crash. Some network file systems cannot; the file itself is
/// complete either way.
void sync_directory(const std::filesystem::path& directory) {
  const int descriptor =
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& file) : file_(file), temporary_(file.string() + ".tmp") {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    fail("create");
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  if (!committed_) {
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::fail(const char* action) const {
  const int reason = errno;
  throw Error(Category::resource, fmt::format("{}: cannot {} {}: {}", file_.string(), action,
                                              temporary_.string(), std::generic_category().message(reason)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail("write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) {
    fail("sync");
  }
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) {
    fail("close");
  }
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) {
    fail("rename");
  }
  committed_ = true;
  sync_directory(file_.parent_path());
}

}  // namespace lockstep
