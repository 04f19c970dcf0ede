#include "core/files/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <system_error>

namespace lockstep {
namespace {

[[noreturn]] void fail_reading(const std::filesystem::path& path, const char* action) {
  fail_file(path, action, category_of_failure(errno));
}

/// Number of open file descriptors of this process, which may open at most `limit`; 0: unknown.
std::size_t open_files(std::size_t limit) {
  std::vector<std::string> names;
  if (system_files().list("/proc/self/fd", names) != 0) return errno == EMFILE ? limit : 0;
  return names.empty() ? 0 : names.size() - 1;  // minus the descriptor that lists this folder
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

void fail_file(const std::filesystem::path& path, const std::string& action, Category category) {
  const int reason = errno;
  const std::string text = std::generic_category().message(reason);
  throw FileError(category, fmt::format("{}: cannot {}: {}", path.string(), action, text), reason);
}

void refuse_file(const std::filesystem::path& path, const std::string& reason, Category category) {
  throw Error(category, fmt::format("{}: {}", path.string(), reason));
}

bool write_fully(const FileDescriptor& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        uninterrupted([&] { return files().write(file.get(), bytes.data(), bytes.size()); });
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  FileStatus status;
  // The kind is checked before opening, because opening a pipe waits for a writer.
  if (files().stat(path, status) != 0) fail_reading(path, "open");
  if (status.kind != FileKind::file) refuse_file(path, "not a regular file");
  descriptor_ = FileDescriptor::open(path, O_RDONLY);
  // The file may have been replaced since the first check.
  if (descriptor_.get() < 0 || files().fstat(descriptor_.get(), status) != 0) fail_reading(path, "open");
  size_ = status.size;
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    const ssize_t count = uninterrupted(
        [&] { return files().pread(descriptor_.get(), destination.data(), destination.size(), offset); });
    if (count < 0) fail_reading(path_, "read");
    if (count == 0) {
      refuse_file(path_, fmt::format("ends at byte {}, {} more were expected", offset, destination.size()));
    }
    destination = destination.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void reserve_open_files(std::size_t more, const std::string& user) {
  constexpr std::size_t spare = 32;  // for files that are open only briefly: images, tables, listed folders
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const std::size_t open = open_files(limit.rlim_cur);
  const std::size_t needed = open + more;
  const rlimit raised{.rlim_cur = std::min<rlim_t>(needed + spare, limit.rlim_max),
                      .rlim_max = limit.rlim_max};
  if (limit.rlim_cur < raised.rlim_cur && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  if (limit.rlim_cur >= needed) return;
  throw Error(
      Category::resource,
      fmt::format("{} needs {} open files, of which this process has {}, but it may have only {}: allow "
                  "more (ulimit -n {}; docker run --ulimit nofile={})",
                  user, needed, open, limit.rlim_max, needed, needed));
}

std::vector<std::byte> InputFile::read_all() const {
  std::vector<std::byte> bytes(size_);
  read(0, bytes);
  return bytes;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) { return InputFile(path).read_all(); }

std::string read_text(const std::filesystem::path& path, std::size_t max_bytes) {
  const FileDescriptor file = FileDescriptor::open(path, O_RDONLY);
  if (file.get() < 0) fail_reading(path, "open");
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < max_bytes) {
    const std::size_t most = std::min(part.size(), max_bytes - text.size());
    const ssize_t count = uninterrupted([&] { return files().read(file.get(), part.data(), most); });
    if (count < 0) fail_reading(path, "read");
    if (count == 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

void remove_file(const std::filesystem::path& path) {
  if (files().unlink(path) != 0 && errno != ENOENT) fail_file(path, "remove");
}

void empty_file(const std::filesystem::path& path) {
  const FileDescriptor file = FileDescriptor::open(path, O_WRONLY | O_TRUNC);
  if (file.get() < 0 && errno != ENOENT) fail_file(path, "empty");
}

}  // namespace lockstep
