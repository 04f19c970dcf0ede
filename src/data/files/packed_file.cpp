#include "data/files/packed_file.h"

#include <fmt/format.h>

#include <array>

#include "core/files/file.h"
#include "core/text/printable.h"
#include "data/files/gzip.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::uint64_t max_size = std::uint64_t{1} << 30;
constexpr std::uint64_t min_gzip = 18;  // header and trailer

}  // namespace

PackedFile::PackedFile(const std::filesystem::path& path) : path_(path) {
  const InputFile file(path);
  if (file.size() == 0) {
    throw Error(Category::data, fmt::format("{}: file is empty", name()));
  }
  std::array<std::byte, 2> start{};
  if (file.size() >= start.size()) {
    file.read(0, start);
  }
  compressed_ = is_gzip(start);
  std::uint64_t size = file.size();
  if (compressed_) {
    if (size < min_gzip) {
      throw Error(Category::data, fmt::format("{}: truncated gzip data: {}", name(), counted(size, "byte")));
    }
    std::array<std::byte, 4> trailer{};
    file.read(size - trailer.size(), trailer);
    size = gzip_size(size, trailer, name());
  }
  if (size > max_size) {
    throw Error(Category::data, fmt::format("{}: {} bytes unpacked, {} are the maximum for this format",
                                            name(), size, max_size));
  }
  size_ = static_cast<std::size_t>(size);
}

void PackedFile::unpack(std::span<std::byte> destination) const {
  if (compressed_) {
    gunzip(read_file(path_), destination, name());
  } else {
    InputFile(path_).read(0, destination);
  }
}

}  // namespace lockstep
