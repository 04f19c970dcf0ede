#include "data/files/gzip.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <memory>
#include <new>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::uint64_t max_ratio = 1032;  // deflate encodes up to 258 bytes in two bits

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

[[noreturn]] void fail(const std::string& origin, const std::string& what) {
  throw Error(Category::data, fmt::format("{}: {}", origin, what));
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte value) { return value == std::byte{0}; });
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::size_t gzip_size(std::uint64_t compressed_bytes, std::span<const std::byte, 4> trailer,
                      const std::string& origin) {
  std::uint32_t promised = 0;
  for (std::size_t i = 0; i < trailer.size(); ++i) {
    promised |= std::to_integer<std::uint32_t>(trailer[i]) << (8 * i);
  }
  if (promised > compressed_bytes * max_ratio) {
    fail(origin,
         fmt::format("truncated or damaged gzip data: promises {} bytes, which {} compressed ones cannot "
                     "hold",
                     promised, compressed_bytes));
  }
  return promised;
}

void gunzip(std::span<const std::byte> compressed, std::span<std::byte> destination,
            const std::string& origin) {
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  if (!decompressor) {
    throw std::bad_alloc();
  }
  const std::size_t expected = destination.size();
  std::span<const std::byte> input = compressed;
  do {
    const std::size_t offset = compressed.size() - input.size();
    if (!is_gzip(input)) {
      fail(origin, fmt::format("no gzip data at byte {}", offset));
    }
    std::size_t used = 0;
    std::size_t made = 0;
    const libdeflate_result result = libdeflate_gzip_decompress_ex(
        decompressor.get(), input.data(), input.size(), destination.data(), destination.size(), &used, &made);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      fail(origin, fmt::format("decompresses to more than {} bytes, the size at its end (damaged, or several "
                               "gzip files in one)",
                               expected));
    }
    if (result != LIBDEFLATE_SUCCESS) {
      fail(origin, fmt::format("truncated or damaged gzip data in the member at byte {}", offset));
    }
    input = input.subspan(used);
    destination = destination.subspan(made);
  } while (!all_zero(input));
  if (!destination.empty()) {
    fail(origin,
         fmt::format("decompresses to {} bytes, {} were expected", expected - destination.size(), expected));
  }
}

}  // namespace lockstep
