#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Index of a part of a packed data set, PART.index: the position of each sample in the files
/// PART-00000.shard, PART-00001.shard, ... All numbers are little-endian:
///
///   "lockstep-images" and a byte 1 (version)                          16 bytes
///   samples, classes, bytes of all names                              3 x 8
///   per sample: offset 8, checksum 8 (xxh3-64 of its bytes), length 4, shard 4, label 4, name length 4
///   names of all samples, concatenated; then names of all classes, each followed by a line end
///   xxh3-128 of all bytes before it, low half first                   16
struct ShardIndex {
  struct Entry {
    std::uint64_t offset = 0;
    std::uint64_t checksum = 0;
    std::uint32_t length = 0;
    std::uint32_t shard = 0;
    std::uint32_t label = 0;
    std::uint32_t name_length = 0;
  };
  std::vector<Entry> entries;
  std::string sample_names;  ///< concatenated
  std::vector<std::string> classes;
  std::array<std::uint64_t, 2> digest{};  ///< checksum of the parsed file
};

/// Parses an index. Throws Error(data) naming `name` for another kind of file or version, a wrong size or
/// checksum, and a label without a class.
ShardIndex parse_shard_index(std::span<const std::byte> file, const std::string& name);

std::vector<std::byte> serialize(const ShardIndex& index);

/// XXH3 64-bit hash of a sample's bytes.
std::uint64_t shard_checksum(std::span<const std::byte> bytes);

/// File name of a shard: "train-00007.shard".
std::string shard_name(const std::string& part, std::uint32_t number);

}  // namespace lockstep
