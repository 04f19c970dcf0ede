#pragma once

#include "graph/graph.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Graph without those Flatten nodes whose readers, linear layers, can read images as they are stored, with
/// weights in that order (WeightShape::pixels). These nodes stay in their places; no node reads them, and
/// they have no inputs.
Graph without_flattening(Graph graph, Type type);

}  // namespace lockstep::cuda
