#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Array of an IDX file of bytes (http://yann.lecun.com/exdb/mnist/): two zero bytes, type 8, number of
/// dimensions, each dimension as a big-endian 32-bit number, then the values.
struct IdxArray {
  std::vector<std::uint32_t> dimensions;
  std::span<const std::uint8_t> values;  ///< view of the file's bytes
};

/// Expected properties of an IDX file.
struct IdxExpectation {
  std::string name;         ///< for errors
  bool compressed = false;  ///< whether errors call sizes "after decompression"
  std::size_t dimensions = 1;
};

/// Parses a file without copying it. Throws Error(data) if the file does not match `expected` or its header.
IdxArray parse_idx(std::span<const std::byte> file, const IdxExpectation& expected);

}  // namespace lockstep
