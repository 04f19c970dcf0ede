#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/json/members.h"
#include "lockstep/field.h"
#include "lockstep/network.h"

namespace lockstep {

struct LayerSummary {
  std::string name;
  std::string operation;
  Shape output;
  std::size_t parameters = 0;  ///< trained parameters only
  std::uint64_t flop = 0;      ///< operations of the forward pass of one image; two per multiply-add
  std::string fused_into;      ///< node of an earlier layer that computes this layer; empty: none
};
LOCKSTEP_MEMBERS(LayerSummary, name, operation, output, parameters, flop, fused_into)

/// Bytes that an executor needs for activations, their gradients and scratch, on a CPU rank.
struct Workspace {
  int samples = 0;  ///< samples of a micro-batch
  std::size_t training_bytes = 0;
  std::size_t recomputing_bytes = 0;  ///< for training with --recompute-activations
  std::size_t evaluation_bytes = 0;
};
LOCKSTEP_MEMBERS(Workspace, samples, training_bytes, recomputing_bytes, evaluation_bytes)

/// Layers of a network and its memory use.
struct NetworkSummary {
  std::vector<LayerSummary> layers = {};
  std::size_t operations = 0;  ///< nodes of the graph
  std::size_t parameters = 0;  ///< trained parameters only
  std::uint64_t flop = 0;
  std::size_t parameter_bytes = 0;  ///< bytes of all parameters; a gradient takes as many
  std::vector<Workspace> workspaces = {};
};
LOCKSTEP_MEMBERS(NetworkSummary, layers, operations, parameters, flop, parameter_bytes, workspaces)

/// Summary with workspaces for micro-batches of `micro_batch` samples, half as many and twice as many.
NetworkSummary summarize(const Network& network, int micro_batch);

/// Tables of layers and of memory.
std::string text_of(const NetworkSummary& network);

/// List of channels, rows and columns.
JsonValue json_of(Shape shape);

/// Shape as text: "20x26x26"; for a vector, its length.
std::string text_of(Shape shape);

/// Number of trained parameters of a layer, without running statistics.
std::size_t trained_parameters(const Network& network, const Network::Layer& layer);

}  // namespace lockstep
