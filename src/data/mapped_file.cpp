#include "data/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "lockstep/error.h"

namespace lockstep {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Category::data, fmt::format("{}: {}", path.string(), what));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    refuse(fmt::format("cannot open: {}", std::generic_category().message(errno)));
  }
  struct stat status {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = regular ? static_cast<std::size_t>(status.st_size) : 0;
  void* memory = size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0) : nullptr;
  const int reason = errno;
  ::close(descriptor);
  if (!regular) {
    refuse("not a regular file");
  }
  if (memory == MAP_FAILED) {
    refuse(fmt::format("cannot map into memory: {}", std::generic_category().message(reason)));
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
