#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "lockstep/optimizer.h"

namespace lockstep {

/// A range of the arena and what a step does there.
struct Segment {
  enum class Kind {
    trained,    ///< the optimizer's rule
    statistic,  ///< moves towards the mean of what was observed: Parameter::statistic_momentum
    frozen,     ///< nothing
  };
  std::size_t begin = 0, end = 0;
  Kind kind = Kind::trained;
  bool weight_decay = true;
  bool adapts = false;         ///< has a trust ratio of its own; else the ratio is 1
  double momentum = 0.0;       ///< of a statistic
  std::size_t parameter = 0;   ///< first of the parameters that lie here
  std::size_t parameters = 1;  ///< how many
};

/// Ascending segments that tile the arena. Neighbours that are treated alike are one segment; one that adapts
/// holds one parameter. `layerwise`: the rule has trust ratios. Throws Error(usage) for a pattern of
/// options.freeze that matches nothing, naming the nearest parameter or layer, and when nothing is trained.
std::vector<Segment> make_segments(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                                   const OptimizerOptions& options, bool layerwise);

/// Which parameters the patterns of options.freeze match: a parameter's whole name, or the layers before one
/// of its dots ("layer1" matches "layer1.0.conv1.weight"); * stands for any text and ? for one character.
std::vector<bool> frozen_parameters(const std::vector<Parameter>& parameters,
                                    const std::vector<std::string>& patterns);

/// Calls visit(segment, first, last) for the parts of segments that lie in [begin, end), ascending.
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
