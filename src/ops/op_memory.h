#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "data/feed/micro_batch.h"
#include "lockstep/network.h"
#include "ops/plan.h"

namespace lockstep {

/// An operation's view of an executor's memory during one micro-batch, on any device. `Element` is the type
/// of stored activations; void: chosen at run time. Unused pointers are null.
template <class Element>
struct NodeMemory {
  int samples = 0;  ///< in the micro-batch, >= 1
  std::array<const Element*, max_inputs> inputs{};
  Element* output = nullptr;  ///< backward: read if the operation requested it
  const Element* grad_output = nullptr;
  /// Overwritten; null: the gradient of this input is not needed.
  std::array<Element*, max_inputs> grad_inputs{};
  /// Weight, bias, running mean, running variance, in PyTorch's layouts.
  std::array<const float*, max_parameters> parameters{};
  /// Sums over the samples, overwritten; layouts of the parameters. Running statistics: samples * the value
  /// of the micro-batch. A bias: null if its gradient is not to be computed.
  std::array<float*, max_parameters> grad_parameters{};
  std::byte* saved = nullptr;          ///< kept from forward to backward
  std::byte* scratch = nullptr;        ///< free between calls
  const std::uint64_t* ids = nullptr;  ///< of the samples; with `random`, they determine random numbers
  const RandomKey* random = nullptr;
};

/// The loss's view. Labels, shares and predictions have one entry per sample. Partner labels and shares are
/// null unless samples are mixed. Targets, [sample][output], replace labels in tasks other than
/// classification; then there are no predictions.
template <class Element>
struct LossTensors {
  int samples = 0;
  const Element* logits = nullptr;
  Element* gradient = nullptr;  ///< of the sum of the losses, overwritten; null: not needed
  const std::int32_t* labels = nullptr;
  const std::int32_t* partner_labels = nullptr;
  const float* targets = nullptr;
  const float* shares = nullptr;        ///< weight of a sample's own label or targets
  std::int32_t* predictions = nullptr;  ///< written
  LeafResult* result = nullptr;
  std::byte* scratch = nullptr;
};

}  // namespace lockstep
