#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// An IDX file of bytes (http://yann.lecun.com/exdb/mnist/): two zero bytes, type 8, number of dimensions,
/// each dimension as a big-endian 32-bit number, the values.
struct IdxArray {
  std::vector<std::uint32_t> dimensions;
  std::span<const std::uint8_t> values;  ///< views the file's bytes
};

/// What the caller knows of the file.
struct IdxExpectation {
  std::string name;         ///< for errors
  bool compressed = false;  ///< errors then say that sizes are those after decompression
  std::size_t dimensions = 1;
};

/// Checks the header against the expectation and the file's exact size. No copy. Throws Error(data).
IdxArray parse_idx(std::span<const std::byte> file, const IdxExpectation& expected);

}  // namespace lockstep
