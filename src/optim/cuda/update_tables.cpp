#include <algorithm>
#include <vector>

#include "optim/cuda/update.h"

namespace lockstep::cuda {
namespace {

template <class... Rules>
constexpr std::size_t largest_coefficients(const std::variant<Rules...>* /*rule*/) {
  return std::max({sizeof(typename Rules::Coefficients)...});
}

/// UpdateMemory::unit_segments for these segments.
std::vector<std::uint32_t> find_unit_segments(std::span<const Segment> segments) {
  std::vector<std::uint32_t> found;
  std::uint32_t segment = 0;
  for (std::size_t element = 0; element < segments.back().end; element += segment_unit) {
    while (segments[segment].end <= element) ++segment;
    found.push_back(segment);
  }
  found.push_back(static_cast<std::uint32_t>(segments.size() - 1));
  return found;
}

}  // namespace

UpdateTables::UpdateTables(Device& device, std::span<const Segment> segments, const BlockNorms& norms)
    : segments_(device, segments),
      unit_segments_(device, find_unit_segments(segments)),
      blocks_(device, norms.all_blocks()),
      first_blocks_(device, norms.first_blocks()),
      trust_ratios_(device.allocate(norms.first_blocks().size() * sizeof(float))),
      coefficients_(device.allocate(
          segments.size() * largest_coefficients(static_cast<const OptimizerRule::Variant*>(nullptr)))) {}

UpdateMemory UpdateTables::update() const {
  UpdateMemory memory;
  memory.segments = segments_.data();
  memory.segment_count = static_cast<std::uint32_t>(segments_.size());
  memory.unit_segments = unit_segments_.data();
  memory.trust_ratios = trust_ratios_.floats().data();
  memory.coefficients = coefficients_.data();
  return memory;
}

NormMemory UpdateTables::norms() const {
  return {blocks_.data(), first_blocks_.data(), first_blocks_.size() - 1};
}

}  // namespace lockstep::cuda
