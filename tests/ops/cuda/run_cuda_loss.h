#pragma once

#include <vector>

#include "ops/cuda/op.h"
#include "ops/cuda/padded_tensor.h"
#include "ops/run_loss.h"

namespace lockstep::test {

/// Runs the loss on the GPU, with or without its gradient.
inline LossValues run_cuda_loss(const LossCase& given, cuda::Type type, bool gradient = true) {
  const int samples = given.logits.samples;
  const cuda::Loss loss = cuda::plan_loss(given.logits.shape, samples,
                                          {.task = given.task, .label_smoothing = given.smoothing}, type);
  const PaddedTensor logits(type, given.logits), grad(type, samples, given.logits.shape);
  const DeviceMemory scratch(loss.scratch_bytes), labels = on_device(given.labels);
  const DeviceMemory targets = on_device(given.targets), others = on_device(given.others),
                     shares = on_device(given.shares);
  const DeviceMemory predictions = on_device(std::vector<std::int32_t>(given.labels.size(), -7));
  const DeviceMemory result = on_device(std::vector{LeafResult{}});
  run_on_device([&](cuda::StreamHandle stream) {
    LossTensors<void> memory;
    memory.samples = samples;
    memory.logits = logits.data();
    memory.gradient = gradient ? grad.data() : nullptr;
    memory.scratch = scratch.data();
    memory.labels = reinterpret_cast<const std::int32_t*>(labels.data());
    memory.partner_labels = reinterpret_cast<const std::int32_t*>(others.data());
    memory.targets = targets.floats();
    memory.shares = shares.floats();
    memory.predictions = reinterpret_cast<std::int32_t*>(predictions.data());
    memory.result = reinterpret_cast<LeafResult*>(result.data());
    loss.run(stream, memory);
  });
  EXPECT_TRUE(grad.end_intact() && scratch.end_intact() && predictions.end_intact());
  EXPECT_TRUE(!gradient || grad.padding_is_zero());
  return {result.fetch<LeafResult>().front(), predictions.fetch<std::int32_t>(), grad.values()};
}

}  // namespace lockstep::test
