#include "data/files/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t magic_bytes = 4;
constexpr std::uint32_t type_unsigned_byte = 0x08;

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) {
    value = (value << 8) | std::to_integer<std::uint32_t>(byte);
  }
  return value;
}

/// Whether the product of `dimensions` is `size`.
bool product_is(std::span<const std::uint32_t> dimensions, std::uint64_t size) {
  std::uint64_t product = 1;
  for (const std::uint32_t extent : dimensions) {
    if (__builtin_mul_overflow(product, std::uint64_t{extent}, &product)) {
      return false;
    }
  }
  return product == size;
}

}  // namespace

IdxArray parse_idx(std::span<const std::byte> file, const IdxExpectation& expected) {
  const std::size_t header_bytes = magic_bytes + 4 * expected.dimensions;
  const char* after = expected.compressed ? " after decompression" : "";
  if (file.size() < header_bytes) {
    throw Error(Category::data, fmt::format("{}: an IDX header needs {} bytes, file holds {}{}",
                                            expected.name, header_bytes, file.size(), after));
  }
  const std::uint32_t magic = big_endian(file);
  const auto wanted = static_cast<std::uint32_t>((type_unsigned_byte << 8) | expected.dimensions);
  if (magic != wanted) {
    throw Error(Category::data,
                fmt::format("{}: magic number 0x{:08x} at byte 0, IDX bytes of {} have "
                            "0x{:08x}",
                            expected.name, magic, counted(expected.dimensions, "dimension"), wanted));
  }
  IdxArray array;
  for (std::size_t i = 0; i < expected.dimensions; ++i) {
    array.dimensions.push_back(big_endian(file.subspan(magic_bytes + 4 * i)));
  }
  const std::span<const std::byte> values = file.subspan(header_bytes);
  if (!product_is(array.dimensions, values.size())) {
    throw Error(Category::data, fmt::format("{}: header promises {} bytes, file holds {}{}", expected.name,
                                            fmt::join(array.dimensions, "x"), values.size(), after));
  }
  array.values = {reinterpret_cast<const std::uint8_t*>(values.data()), values.size()};
  return array;
}

}  // namespace lockstep
