#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "comm/aligned_floats.h"
#include "gradient/gradient_sums.h"

namespace lockstep {

/// A gradient whose sums round differently in every order: magnitudes from 2^-8 to 2^7, both signs.
inline float gradient(std::uint32_t leaf, std::size_t element) {
  std::uint32_t bits = leaf * 0x9E3779B9u + static_cast<std::uint32_t>(element) * 0x85EBCA6Bu + 1;
  bits = (bits ^ (bits >> 15)) * 0x2C1B3C6Du;
  bits = (bits ^ (bits >> 12)) * 0x297A2D39u;
  bits ^= bits >> 15;
  const auto fraction = static_cast<float>(bits & 0xFFFFFF) / 16777216.0f + 0.5f;
  const auto scale = static_cast<float>(1u << ((bits >> 24) & 15)) / 256.0f;
  return (bits >> 31) != 0 ? -fraction * scale : fraction * scale;
}

/// Sum by the definition of the summation tree.
inline float reference_sum(std::uint32_t begin, std::uint32_t end, std::size_t element) {
  if (end - begin == 1) return gradient(begin, element);
  std::uint32_t left = 1;
  while (left * 2 < end - begin) left *= 2;
  return reference_sum(begin, begin + left, element) + reference_sum(begin + left, end, element);
}

/// Arenas of one executor after its last leaf.
inline std::vector<AlignedFloats> compute(const PartialSumPlan& plan, std::uint32_t first_leaf,
                                          std::size_t elements) {
  std::vector<AlignedFloats> arenas;
  for (std::uint32_t i = 0; i < plan.arenas(); ++i) arenas.emplace_back(elements);
  for (std::uint32_t i = 0; i < plan.leaves().size(); ++i) {
    const PartialSumPlan::LeafStep& step = plan.leaves()[i];
    for (std::size_t e = 0; e < elements; ++e) arenas[step.write_to].data()[e] = gradient(first_leaf + i, e);
    for (const auto& addition : step.additions) {
      float* into = arenas[addition.into].data();
      const float* from = arenas[addition.from].data();
      for (std::size_t e = 0; e < elements; ++e) into[e] = into[e] + from[e];
    }
  }
  return arenas;
}

/// One rank's part of a step: gradients of its executors, and the plan of their sums.
class RankGradients {
 public:
  RankGradients(std::uint32_t leaves, int ranks, int rank, int executors, std::size_t elements)
      : options_{.elements = elements,
                 .assignment = assign(leaves, ranks, rank, executors),
                 .partials = {},
                 .summation = *summation_} {
    const std::vector<std::uint32_t>& bounds = options_.assignment.executors;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      plans_.emplace_back(bounds[i], bounds[i + 1]);
      arenas_.push_back(compute(plans_[i], bounds[i], elements));
      for (const PartialSumPlan::Result& result : plans_[i].results()) {
        options_.partials.push_back({result.node, arenas_[i][result.arena].data()});
      }
    }
  }
  const GradientSumsOptions& options() const { return options_; }
  Summation& summation() { return *summation_; }
  /// Refills the arenas for another step, overwriting the previous values.
  void compute_again() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      std::vector<AlignedFloats> fresh =
          compute(plans_[i], options_.assignment.executors[i], options_.elements);
      for (std::size_t a = 0; a < fresh.size(); ++a) {
        std::memcpy(arenas_[i][a].data(), fresh[a].data(), options_.elements * sizeof(float));
      }
    }
  }

 private:
  std::unique_ptr<Summation> summation_ = make_cpu_summation();
  GradientSumsOptions options_;
  std::vector<PartialSumPlan> plans_;
  std::vector<std::vector<AlignedFloats>> arenas_;
};

}  // namespace lockstep
