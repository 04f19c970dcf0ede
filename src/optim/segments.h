#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "graph/graph.h"
#include "lockstep/optimizer.h"

namespace lockstep {

/// Range of the arena whose elements a step treats alike.
struct Segment {
  enum class Kind {
    trained,    ///< updated by the optimizer's rule
    statistic,  ///< running statistic, updated by Parameter::statistic_momentum
    frozen,     ///< not updated
  };
  std::size_t begin = 0, end = 0;
  Kind kind = Kind::trained;
  bool weight_decay = true;
  bool adapts = false;         ///< whether the segment has a trust ratio; if not, it is 1
  double momentum = 0.0;       ///< statistic_momentum of a statistic
  std::size_t parameter = 0;   ///< index of the first parameter
  std::size_t parameters = 1;  ///< number of parameters
};

/// Ascending segments that tile the arena. Neighbouring parameters with the same treatment share a segment; a
/// segment that adapts has a single parameter. `layerwise`: whether the rule has trust ratios. Throws
/// Error(usage) for a pattern of options.freeze that matches nothing, naming the nearest parameter or layer,
/// and if every parameter is frozen or a statistic.
std::vector<Segment> make_segments(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                                   const OptimizerOptions& options, bool layerwise);

/// Whether each parameter matches a pattern of options.freeze. A pattern matches a whole name, or its prefix
/// before a dot ("layer1" matches "layer1.0.conv1.weight"); * matches any text and ? one character.
std::vector<bool> frozen_parameters(const std::vector<Parameter>& parameters,
                                    const std::vector<std::string>& patterns);

/// Calls visit(segment, first, last) for the part of each segment in [begin, end), ascending.
template <typename Visit>
void visit_segments(const std::vector<Segment>& segments, std::size_t begin, std::size_t end,
                    const Visit& visit) {
  auto at =
      std::upper_bound(segments.begin(), segments.end(), begin,
                       [](std::size_t element, const Segment& segment) { return element < segment.end; });
  for (; at != segments.end() && at->begin < end; ++at) {
    visit(*at, std::max(begin, at->begin), std::min(end, at->end));
  }
}

}  // namespace lockstep
