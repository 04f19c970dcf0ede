#include "core/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Makes a rename inside `directory` survive a crash. Some network file systems do not support this, which is
/// ignored: the file itself is complete.
void sync_directory(const std::filesystem::path& directory) {
  const FileDescriptor descriptor(
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() >= 0) ::fsync(descriptor.get());
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& file) : file_(file) {
  std::error_code ignored;  // creating the file reports it
  const auto status = std::filesystem::status(file, ignored);
  if (std::filesystem::is_directory(status)) {
    throw Error(Category::resource, fmt::format("{}: is a folder, not a file", file.string()));
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw Error(Category::resource, fmt::format("{}: is not a regular file", file.string()));
  }
  create_temporary();
}

/// O_EXCL refuses existing names, symbolic links among them. mkostemp would create a file that only its owner
/// may read.
void AtomicFile::create_temporary() {
  constexpr int max_attempts = 100;
  for (int attempt = 0; attempt < max_attempts && descriptor_.get() < 0; ++attempt) {
    std::uint32_t name = 0;
    if (::getrandom(&name, sizeof name, 0) != sizeof name) fail("name a temporary file");
    temporary_ = fmt::format("{}.{:08x}.tmp", file_.string(), name);
    descriptor_ = FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (descriptor_.get() < 0 && errno != EEXIST) break;
  }
  if (descriptor_.get() < 0) fail("create a file beside it");
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const {
  const int reason = errno;
  throw Error(Category::resource, fmt::format("{}: cannot {}: {}", file_.string(), action,
                                              std::generic_category().message(reason)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_.get(), bytes.data(), bytes.size());
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
  if (::fsync(descriptor_.get()) != 0) {
    fail("sync");
  }
  if (::close(descriptor_.release()) != 0) fail("close");
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) {
    fail("replace the old one");
  }
  committed_ = true;
  sync_directory(file_.parent_path());
}

void write_text_file(const std::filesystem::path& file, std::string_view text) {
  AtomicFile output(file);
  output.write(std::as_bytes(std::span(text)));
  output.commit();
}

}  // namespace lockstep
