#pragma once

#include "graph/graph.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// The graph without those Flatten nodes whose readers, linear layers, may as well read images as they are
/// stored, with weights in that order (WeightShape::pixels). The nodes stay in their places; nothing
/// reads them, and they have no inputs.
Graph without_flattening(Graph graph, Type type);

}  // namespace lockstep::cuda
