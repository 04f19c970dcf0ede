#pragma once

#include <cstddef>
#include <string>

#include "lockstep/network.h"

namespace lockstep {

/// Table of a network's layers: operation, output shape, parameters, FLOPs (two per multiply-add, forward,
/// one image), the node that each is fused into, if any; and totals.
std::string layer_table(const Network& network);

/// Table of the memory that training and evaluation take on a CPU rank, by size of micro-batch:
/// `micro_batch`, half of it and twice it.
std::string memory_table(const Network& network, int micro_batch);

/// Shape as text: "20x26x26"; of a vector, its length.
std::string text_of(Shape shape);

/// Number of trained parameters of a layer, without running statistics.
std::size_t trained_parameters(const Network& network, const Network::Layer& layer);

}  // namespace lockstep
