#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lockstep/network.h"
#include "ops/thread_limits.h"
#include "train/session/backend.h"

namespace lockstep {

struct NodeWork {
  Work forward;
  std::optional<Work> backward = {};  ///< none: not computed
};

/// Work of each node of a graph for a micro-batch of `samples`, for which `compiled` was compiled. Backward
/// counts the operations of forward once for the weight gradient and once for the input gradient, if that is
/// needed.
std::vector<NodeWork> work_of(const Network& network, const Graph& graph, const CompiledGraph& compiled,
                              double samples);

/// The limits as one line of text.
std::string text_of(const ThreadLimits& limits);
/// A limit and the share of it that was reached, in 14 columns; blank if `limit_seconds` is 0 (unknown).
std::string limit_cell(const std::string& limit, double limit_seconds, double seconds);

}  // namespace lockstep
