#include "fuzz.h"
#include "graph/graph.h"
#include "onnx/import.h"

namespace {

/// Any bytes must be a model whose network compiles to a graph, or be rejected.
void read_input(std::span<const std::byte> file) {
  lockstep::build_graph(*lockstep::parse_onnx(file, "fuzz.onnx", {}).network);
}

const Parser onnx("onnx", read_input);

}  // namespace
