#include <numeric>

#include "data/files/idx.h"
#include "fuzz.h"

namespace {

/// An accepted array must lie inside the file and have the size that its dimensions promise.
void read_input(std::span<const std::byte> file) {
  for (const std::size_t dimensions : {1U, 3U}) {
    may_refuse([&] {
      const lockstep::IdxArray array =
          lockstep::parse_idx(file, {.name = "file", .compressed = true, .dimensions = dimensions});
      const auto product = std::accumulate(array.dimensions.begin(), array.dimensions.end(), std::uint64_t{1},
                                           [](std::uint64_t a, std::uint64_t b) { return a * b; });
      if (array.values.size() != file.size() - 4 - 4 * dimensions || product != array.values.size()) {
        __builtin_trap();
      }
    });
  }
}

const Parser idx("idx", read_input);

}  // namespace
