#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "core/hash.h"
#include "data/files/shard_index.h"
#include "fuzz.h"

namespace {

/// The input is an index without its checksum, which is added here. An accepted index must be written back as
/// the same bytes.
void read_input(std::span<const std::byte> input) {
  std::vector<std::byte> file(input.begin(), input.end());
  const std::array digest = lockstep::Digest(input).words();
  std::ranges::copy(std::as_bytes(std::span(digest)), std::back_inserter(file));
  if (serialize(lockstep::parse_shard_index(file, "file")) != file) __builtin_trap();
}

const Parser shard_index("shard_index", read_input);

}  // namespace
