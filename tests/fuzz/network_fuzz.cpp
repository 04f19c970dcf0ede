#include "fuzz.h"
#include "graph/graph.h"
#include "models/json/json_network.h"

namespace {

/// Any text must be a network that compiles to a graph, or be rejected as wrong usage.
void read_input(std::span<const std::byte> file) {
  may_refuse(
      [&] {
        lockstep::build_graph(*lockstep::parse_network(lockstep::as_text(file), "fuzz", {1, 28, 28}, 10));
      },
      lockstep::Category::usage);
}

const Parser network("network", read_input);

}  // namespace
