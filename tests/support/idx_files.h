#pragma once

#include <libdeflate.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// `value` as the four big-endian bytes of an IDX header.
inline std::string big_endian(std::uint32_t value) {
  std::string text;
  for (const int shift : {24, 16, 8, 0}) {
    text += static_cast<char>(value >> shift);
  }
  return text;
}

inline std::string idx(std::initializer_list<std::uint32_t> dimensions, std::string_view values) {
  std::string text = big_endian(0x0800U | static_cast<std::uint32_t>(dimensions.size()));
  for (const std::uint32_t extent : dimensions) {
    text += big_endian(extent);
  }
  return text.append(values);
}

inline std::string gzip(std::string_view text) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  std::string packed(libdeflate_gzip_compress_bound(compressor, text.size()), '\0');
  packed.resize(libdeflate_gzip_compress(compressor, text.data(), text.size(), packed.data(), packed.size()));
  libdeflate_free_compressor(compressor);
  return packed;
}

}  // namespace lockstep
