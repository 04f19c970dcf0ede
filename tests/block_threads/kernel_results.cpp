// Results of kernels that add over rows. Compiled twice: on threads of blocks, and, with the namespace
// lockstep_loops in place of lockstep, on loops.
#include "ops/cuda/kernels/batch_norm_training.cu"
#include "ops/cuda/kernels/cross_entropy.cu"

#include <random>

#include "block_threads/kernel_results.h"

namespace lockstep {
namespace cuda {
#ifndef LOCKSTEP_BLOCK_THREADS
void give(StreamHandle /*stream*/, const char* /*name*/, std::span<const std::byte> /*arguments*/,
          std::function<void()> work) {
  work();
}
#endif
namespace {

using Values = std::vector<float>;

Values random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  Values values(count);
  for (float& value : values) value = static_cast<float>(generator()) / 0x1p31F - 1.0F;
  return values;
}

/// A batch norm with residual, ReLU and a second gradient: all that its four kernels do.
void add_batch_norm(std::vector<Values>& results) {
  constexpr int channels = 8;
  constexpr std::size_t pixels = 150, count = pixels * channels;
  const Values input = random_values(count, 1), residual = random_values(count, 2);
  const Values grad = random_values(count, 3), more = random_values(count, 4);
  const Values weight = random_values(channels, 5), bias = random_values(channels, 6);
  NormTraining norm{
      .pixels = pixels, .samples = 3, .channels = channels, .eps = 1e-5F, .clamp = {.low = 0.0F}};
  Values statistics(norm.statistics_bytes() / sizeof(float));
  std::vector<std::byte> scratch(norm.scratch_bytes());
  norm.input = input.data();
  norm.weight = weight.data();
  norm.bias = bias.data();
  norm.statistics = statistics.data();
  norm.scratch = scratch.data();
  Values output(count), grad_input(count), grad_residual(count);
  std::vector<Values> of_channels(4, Values(channels));
  batch_norm_forward(nullptr, {norm, residual.data(), output.data()});
  batch_norm_backward(
      nullptr, {norm, output.data(), grad.data(), more.data(), grad_input.data(), grad_residual.data(),
                of_channels[0].data(), of_channels[1].data(), of_channels[2].data(), of_channels[3].data()});
  results.insert(results.end(), {output, grad_input, grad_residual});
  results.insert(results.end(), of_channels.begin(), of_channels.end());
}

void add_cross_entropy(std::vector<Values>& results, int samples, int classes) {
  constexpr int stored = 304;  // at least the padded classes
  const Values logits = random_values(static_cast<std::size_t>(samples * stored), 7);
  Values grad(logits.size());
  std::vector<std::int32_t> labels, predictions(static_cast<std::size_t>(samples));
  for (int sample = 0; sample < samples; ++sample) labels.push_back(sample == 1 ? -1 : sample * 7 % classes);
  std::vector<std::byte> scratch(cross_entropy_scratch(samples, classes));
  LeafResult result{};
  cross_entropy(nullptr, {.type = Type::fp32,
                          .samples = samples,
                          .classes = classes,
                          .smoothing = 0.1F,
                          .logits = logits.data(),
                          .grad = grad.data(),
                          .labels = labels.data(),
                          .partner_labels = nullptr,
                          .shares = nullptr,
                          .predictions = predictions.data(),
                          .result = &result,
                          .scratch = scratch.data()});
  results.push_back(grad);
  results.emplace_back(predictions.begin(), predictions.end());
  results.push_back({static_cast<float>(result.loss), static_cast<float>(result.correct),
                     static_cast<float>(result.correct5), static_cast<float>(result.samples)});
}

}  // namespace
}  // namespace cuda

std::vector<std::vector<float>> kernel_results() {
  std::vector<std::vector<float>> results;
  cuda::add_batch_norm(results);
  cuda::add_cross_entropy(results, 5, 10);
  cuda::add_cross_entropy(results, 3, 300);
  return results;
}

}  // namespace lockstep
