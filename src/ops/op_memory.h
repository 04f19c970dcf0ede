#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "data/feed/micro_batch.h"
#include "lockstep/network.h"
#include "ops/plan.h"

namespace lockstep {

/// One operation's view of an executor's memory during one micro-batch, on any device. `Element` is what
/// activations are stored as: float, or void where a plan chooses. Pointers that an operation does not have
/// are null.
template <class Element>
struct NodeMemory {
  int samples = 0;  ///< images in the micro-batch, >= 1
  std::array<const Element*, max_inputs> inputs{};
  Element* output = nullptr;  ///< backward: to read, where the operation asked for it
  const Element* grad_output = nullptr;
  /// Written, not added to; null where the gradient of that input is not wanted.
  std::array<Element*, max_inputs> grad_inputs{};
  /// In the order of the network's: weight, bias, running mean, running variance; plain PyTorch layouts.
  std::array<const float*, max_parameters> parameters{};
  /// Sums over the samples, written, not added to; same layout as the parameters. Running statistics:
  /// samples * what the micro-batch observed.
  std::array<float*, max_parameters> grad_parameters{};
  std::byte* saved = nullptr;          ///< kept from forward to backward
  std::byte* scratch = nullptr;        ///< free between calls
  const std::uint64_t* ids = nullptr;  ///< of the samples; this and the next decide random numbers
  const RandomKey* random = nullptr;
};

/// The loss's view. One entry per sample: labels, their partners' and shares (null where samples are not
/// mixed), and predictions, which are written.
template <class Element>
struct LossTensors {
  int samples = 0;
  const Element* logits = nullptr;
  Element* gradient = nullptr;  ///< of the sum of the losses; written; null where it is not wanted
  const std::int32_t* labels = nullptr;
  const std::int32_t* partner_labels = nullptr;
  const float* shares = nullptr;  ///< of a sample's own label
  std::int32_t* predictions = nullptr;
  LeafResult* result = nullptr;
  std::byte* scratch = nullptr;
};

}  // namespace lockstep
