#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/graph.h"
#include "may_refuse.h"
#include "models/json/json_network.h"

/// Any text is a network that becomes a graph, or is refused as wrong usage.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  return may_refuse(
      [&] {
        lockstep::build_graph(*lockstep::parse_network(text, "fuzz", {1, 28, 28}, 10));
      },
      lockstep::Category::usage);
}
