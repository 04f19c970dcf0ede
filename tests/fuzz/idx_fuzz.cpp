#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "data/files/idx.h"
#include "may_refuse.h"

/// An array that is accepted lies inside the file and has the size that its dimensions say.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  for (const std::size_t dimensions : {1U, 3U}) {
    may_refuse([&] {
      const lockstep::IdxArray array =
          lockstep::parse_idx(file, {.name = "file", .compressed = true, .dimensions = dimensions});
      const auto product = std::accumulate(array.dimensions.begin(), array.dimensions.end(), std::uint64_t{1},
                                           [](std::uint64_t a, std::uint64_t b) { return a * b; });
      if (array.values.size() != size - 4 - 4 * dimensions || product != array.values.size()) {
        __builtin_trap();
      }
    });
  }
  return 0;
}
