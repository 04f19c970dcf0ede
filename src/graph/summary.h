#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lockstep/network.h"

namespace lockstep {

/// Name of an operation and those of its options that are not usual, in PyTorch's words: "conv2d 3x3 stride 2
/// padding 1", "relu". Channels, features and biases are seen from its shape and parameters.
std::string describe(const Operation& operation);

/// Multiplications of a layer, each with an addition, forward for one image: convolutions and linear layers;
/// 0 for others. Padding counts, cropping does not: the number that papers and torchvision give.
std::uint64_t multiply_adds(const Network& network, const Network::Layer& layer);

/// Layers that a node of the network's graph computes: positions in the network.
std::vector<std::size_t> layers_of(const Graph& graph, std::size_t node);

/// Hash of everything that decides what a network computes, 32 hexadecimal digits: operations with all
/// options, names, connections, shapes, the output layer, and initializers. Equal on ranks with the same
/// network.
std::string fingerprint(const Network& network);

}  // namespace lockstep
