#include <vector>

#include "core/hash.h"
#include "data/files/shard_index.h"
#include "fuzz.h"

namespace {

/// The input is an index without its checksum, which is added here. What is accepted is written back to the
/// same bytes.
void read_input(std::span<const std::byte> input) {
  std::vector<std::byte> file(input.begin(), input.end());
  lockstep::Digest digest;
  digest.update(input);
  for (const std::uint64_t word : digest.words()) {
    for (int i = 0; i < 8; ++i) {
      file.push_back(static_cast<std::byte>(word >> (8 * i) & 0xff));
    }
  }
  if (serialize(lockstep::parse_shard_index(file, "file")) != file) __builtin_trap();
}

const Parser shard_index("shard_index", read_input);

}  // namespace
