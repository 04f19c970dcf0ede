#pragma once

#include "graph/graph.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Removes Flatten nodes whose readers are linear layers that can read images as stored, with weights in the
/// same order (WeightShape::pixels). Removed nodes keep their places, but have neither inputs nor readers.
Graph without_flattening(Graph graph, Type type);

}  // namespace lockstep::cuda
