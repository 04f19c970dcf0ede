#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "data/feed/micro_batch.h"
#include "lockstep/network.h"
#include "ops/plan.h"

namespace lockstep {

/// Memory of one operation on an executor during one micro-batch, on any device. `Element` is the type in
/// which activations are stored: float, or void if a plan chooses. Pointers that an operation does not use
/// are null.
template <class Element>
struct NodeMemory {
  int samples = 0;  ///< images in the micro-batch, >= 1
  std::array<const Element*, max_inputs> inputs{};
  Element* output = nullptr;  ///< backward: to read, where the operation asked for it
  const Element* grad_output = nullptr;
  /// Written, not added to; null where the gradient of that input is not wanted.
  std::array<Element*, max_inputs> grad_inputs{};
  /// Parameters in the order of the network: weight, bias, running mean, running variance; in PyTorch's
  /// layouts.
  std::array<const float*, max_parameters> parameters{};
  /// Sums over the samples, written, not added to; same layout as the parameters. Running statistics:
  /// samples * what the micro-batch observed.
  std::array<float*, max_parameters> grad_parameters{};
  std::byte* saved = nullptr;          ///< kept from forward to backward
  std::byte* scratch = nullptr;        ///< free between calls
  const std::uint64_t* ids = nullptr;  ///< ids of the samples; they and `random` decide random numbers
  const RandomKey* random = nullptr;
};

/// Memory of the loss. One entry per sample: labels, labels and shares of partners (null if samples are not
/// mixed), and predictions, which are written.
template <class Element>
struct LossTensors {
  int samples = 0;
  const Element* logits = nullptr;
  Element* gradient = nullptr;  ///< gradient of the sum of the losses; written; null: not needed
  const std::int32_t* labels = nullptr;
  const std::int32_t* partner_labels = nullptr;
  const float* shares = nullptr;  ///< share of a sample's own label
  std::int32_t* predictions = nullptr;
  LeafResult* result = nullptr;
  std::byte* scratch = nullptr;
};

}  // namespace lockstep
