#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "data/feed/micro_batch.h"
#include "lockstep/network.h"
#include "ops/plan.h"

namespace lockstep {

/// An operation's view of an executor's memory during one micro-batch, on any device. `Element` is the type
/// of stored activations; void if the type is chosen at run time. A view of void converts to a view of the
/// type that an operation was planned for, and back. Unused pointers are null.
template <class Element>
struct NodeMemory {
  int samples = 0;  ///< in the micro-batch, >= 1
  std::array<const Element*, max_inputs> inputs{};
  Element* output = nullptr;  ///< backward: read if the operation requested it
  const Element* grad_output = nullptr;
  /// Gradients of the inputs, overwritten. An entry is null if the gradient is not needed.
  std::array<Element*, max_inputs> grad_inputs{};
  /// Weight, bias, running mean, running variance, in PyTorch's layouts; aligned to a float. A chain of
  /// operations has the parameters of all its operations, in the order of the chain.
  std::array<const float*, max_parameters> parameters{};
  /// Gradients summed over the samples, overwritten, in the layouts of the parameters. Entries of running
  /// statistics receive samples * the statistic of the micro-batch. The bias's entry is null if its gradient
  /// must not be computed.
  std::array<float*, max_parameters> grad_parameters{};
  std::byte* saved = nullptr;          ///< kept from forward to backward
  std::byte* scratch = nullptr;        ///< free between calls
  const std::uint64_t* ids = nullptr;  ///< sample ids; together with `random`, determine random numbers
  const RandomKey* random = nullptr;

  template <class Typed>
  operator NodeMemory<Typed>() const  // NOLINT(google-explicit-constructor): operations take their own type
      requires(std::is_void_v<Element> != std::is_void_v<Typed>) {
    NodeMemory<Typed> typed{.samples = samples,
                            .output = static_cast<Typed*>(output),
                            .grad_output = static_cast<const Typed*>(grad_output),
                            .parameters = parameters,
                            .grad_parameters = grad_parameters,
                            .saved = saved,
                            .scratch = scratch,
                            .ids = ids,
                            .random = random};
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      typed.inputs[k] = static_cast<const Typed*>(inputs[k]);
      typed.grad_inputs[k] = static_cast<Typed*>(grad_inputs[k]);
    }
    return typed;
  }
};

/// The loss's view of an executor's memory. Labels, shares and predictions have one entry per sample. Partner
/// labels and shares are null unless samples are mixed. In tasks other than classification, targets,
/// [sample][output], replace labels, and there are no predictions.
template <class Element>
struct LossTensors {
  int samples = 0;
  const Element* logits = nullptr;
  Element* gradient = nullptr;  ///< gradient of the summed losses, overwritten; null if not needed
  const std::int32_t* labels = nullptr;
  const std::int32_t* partner_labels = nullptr;
  const float* targets = nullptr;
  const float* shares = nullptr;        ///< weight of a sample's own label or targets; partner: 1 - share
  std::int32_t* predictions = nullptr;  ///< written
  LeafResult* result = nullptr;
  std::byte* scratch = nullptr;

  template <class Typed>
  operator LossTensors<Typed>() const  // NOLINT(google-explicit-constructor): losses take their own type
      requires(std::is_void_v<Element> != std::is_void_v<Typed>) {
    return {.samples = samples,
            .logits = static_cast<const Typed*>(logits),
            .gradient = static_cast<Typed*>(gradient),
            .labels = labels,
            .partner_labels = partner_labels,
            .targets = targets,
            .shares = shares,
            .predictions = predictions,
            .result = result,
            .scratch = scratch};
  }
};

}  // namespace lockstep
