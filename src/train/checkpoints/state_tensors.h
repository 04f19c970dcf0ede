#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lockstep/network.h"
#include "train/run.h"
#include "train/training_state.h"

namespace lockstep {

/// Tensor of optimizer.safetensors: the part of an arena that belongs to a parameter.
struct StateTensor {
  std::string name;  ///< "momentum.conv1.weight", "average.conv1.weight"
  const Parameter* parameter;
  std::size_t offset;  ///< first element in the arena
};

/// Tensors of `arena`, an average or a state of the optimizer, in the order of the parameters. The optimizer
/// has no states for running statistics.
std::vector<StateTensor> state_tensors(const NamedArena& arena, const Run& run);

}  // namespace lockstep
