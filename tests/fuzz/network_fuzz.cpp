#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/graph.h"
#include "lockstep/error.h"
#include "models/json/json_network.h"

/// Any text is a network that becomes a graph, or is refused as wrong usage.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto network =
        lockstep::parse_network({reinterpret_cast<const char*>(data), size}, "fuzz", {1, 28, 28}, 10);
    lockstep::build_graph(*network);
  } catch (const lockstep::Error& error) {
    if (error.category() != lockstep::Category::usage) {
      throw;
    }
  }
  return 0;
}
