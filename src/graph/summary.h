#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lockstep/network.h"

namespace lockstep {

/// Name of an operation and its unusual options, in PyTorch's terms: "conv2d 3x3 stride 2 padding 1", "relu".
/// Omits channels, features and biases.
std::string describe(const Operation& operation);

/// Number of multiply-adds of a layer's forward pass for one image; see DefaultTraits::multiply_adds.
std::uint64_t multiply_adds(const Network& network, const Network::Layer& layer);

/// Positions in the network of the layers that a node computes.
std::vector<std::size_t> layers_of(const Graph& graph, std::size_t node);

/// Whether a layer in a network file can have this name.
bool is_name_in_file(const std::string& name);

/// Unique names of the layers in a network file. Layers with parameters keep their names, even if
/// is_name_in_file() is false. Other layers keep their names unless is_name_in_file() is false or the name is
/// taken.
std::vector<std::string> names_in_file(const Network& network);

/// Hash of everything that determines what a network computes, 32 hexadecimal digits: operations with every
/// option, names_in_file(), connections, shapes, output layer, and initial values of parameters. Equal on
/// ranks with the same network.
std::string fingerprint(const Network& network);

}  // namespace lockstep
