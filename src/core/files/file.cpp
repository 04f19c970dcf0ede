#include "core/files/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace lockstep {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* action, int reason) {
  throw Error(category_of_failure(reason), fmt::format("{}: cannot {}: {}", path.string(), action,
                                                       std::generic_category().message(reason)));
}

}  // namespace

Category category_of_failure(int reason) {
  switch (reason) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
      return Category::data;
    default:
      return Category::resource;
  }
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  struct stat status {};
  // The type is checked before opening, because opening a pipe waits for a writer.
  if (::stat(path.c_str(), &status) != 0) {
    fail(path, "open", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(Category::data, fmt::format("{}: not a regular file", path.string()));
  }
  descriptor_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor_.get() < 0) {
    fail(path, "open", errno);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    const ssize_t count =
        ::pread(descriptor_.get(), destination.data(), destination.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail(path_, "read", errno);
    }
    if (count == 0) {
      throw Error(Category::data, fmt::format("{}: ends at byte {}, {} more were expected", path_.string(),
                                              offset, destination.size()));
    }
    destination = destination.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void allow_open_files(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, opening a file reports the limit
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  const InputFile file(path);
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  return bytes;
}

}  // namespace lockstep
