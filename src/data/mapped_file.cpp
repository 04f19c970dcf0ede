#include "data/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "data/file.h"

namespace lockstep {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto fail = [&](const char* action, int reason) {
    throw Error(category_of_failure(reason), fmt::format("{}: cannot {}: {}", path.string(), action,
                                                         std::generic_category().message(reason)));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    fail("open", errno);
  }
  struct stat status {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = regular ? static_cast<std::size_t>(status.st_size) : 0;
  void* memory = size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0) : nullptr;
  const int reason = errno;
  ::close(descriptor);
  if (!regular) {
    throw Error(Category::data, fmt::format("{}: not a regular file", path.string()));
  }
  if (memory == MAP_FAILED) {
    fail("map into memory", reason);
  }
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace lockstep
