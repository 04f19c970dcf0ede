#include "block_threads/kernel_results.h"

#include <random>

#include "data/cuda/gather.h"
#include "ops/cuda/kernels/batch_norm_training.h"
#include "ops/cuda/kernels/cross_entropy.h"
#include "ops/cuda/op.h"
#include "optim/cuda/update.h"

namespace lockstep {
namespace cuda {
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

/// Two samples of 18 channels in 3 groups, which padding does not keep apart.
void add_group_norm(std::vector<Values>& results) {
  constexpr int samples = 2, channels = 18, groups = 3, side = 9;
  constexpr std::size_t count = std::size_t{samples} * side * side * padded_channels(channels);
  struct NoLibrary final : Dnn {
    std::unique_ptr<DnnOperation> conv_forward(const ConvProblem&, bool, bool) override { return nullptr; }
    std::unique_ptr<DnnOperation> conv_backward_data(const ConvProblem&) override { return nullptr; }
    std::unique_ptr<DnnOperation> conv_backward_weights(const ConvProblem&) override { return nullptr; }
  } no_library;
  GraphNode node;
  node.operation = GroupNorm{.groups = groups};
  node.shape = {channels, side, side};
  const Op op = plan(GroupNorm{.groups = groups}, {.node = node,
                                                   .inputs = {node.shape},
                                                   .samples = samples,
                                                   .training = true,
                                                   .input_gradient = true,
                                                   .type = Type::fp32,
                                                   .dnn = no_library});
  const Values input = random_values(count, 8), grad = random_values(count, 9);
  const Values weight = random_values(channels, 10), bias = random_values(channels, 11);
  Values output(count), grad_input(count), grad_weight(channels), grad_bias(channels);
  std::vector<std::byte> saved(op.saved_bytes), scratch(op.scratch_bytes);
  OpMemory memory;
  memory.samples = samples;
  memory.inputs[0] = input.data();
  memory.output = output.data();
  memory.grad_output = grad.data();
  memory.grad_inputs[0] = grad_input.data();
  memory.parameters = {weight.data(), bias.data()};
  memory.grad_parameters = {grad_weight.data(), grad_bias.data()};
  memory.saved = saved.data();
  memory.scratch = scratch.data();
  op.forward(memory);
  op.backward(memory);
  results.insert(results.end(), {output, grad_input, grad_weight, grad_bias});
}

void add_batch_norm_in_evaluation(std::vector<Values>& results) {
  constexpr int channels = 20, padded = padded_channels(channels);
  constexpr std::size_t pixels = 90, count = pixels * padded;
  const Values weight = random_values(channels, 12), bias = random_values(channels, 13);
  const Values mean = random_values(channels, 14), variance(channels, 0.5F);
  const Values input = random_values(count, 15), residual = random_values(count, 16);
  Values scale(padded), shift(padded), output(count);
  fold_norm(nullptr, channels, 1e-5F, {weight.data(), bias.data(), mean.data(), variance.data()},
            scale.data(), shift.data());
  normalize(nullptr, Type::fp32,
            {pixels,
             padded,
             {.low = 0.0F},
             scale.data(),
             shift.data(),
             input.data(),
             residual.data(),
             output.data()});
  results.insert(results.end(), {scale, shift, output});
}

/// Weights of a convolution, of one with groups that are joined by padding, and sums of chunks: rows of each
/// kind.
void add_finished_gradients(std::vector<Values>& results) {
  const ConvProblem whole{.in_channels = 16, .out_channels = 24, .kernel = 3};
  const ConvProblem joined{.in_channels = 8, .out_channels = 16, .kernel = 5};
  const WeightForms forms = weight_forms(whole, {.out_channels = 20, .in_channels = 12});
  const WeightForms of_joined = weight_forms(joined, {.out_channels = 10, .in_channels = 6, .groups = 2});
  const ColumnSum sum{.pixels = 200000, .channels = 16};
  const Values padded = random_values(padded_weights(whole), 17);
  const Values padded_joined = random_values(padded_weights(joined), 18);
  const Values chunks = random_values(chunk_bytes(sum) / sizeof(float), 19);
  Values weight(20 * 12 * 9), weight_joined(10 * 3 * 25), sums(13);
  GradientFinish finish(nullptr, Type::fp32);
  finish.add(Unpadding{forms, padded.data(), weight.data()});
  finish.add(Unpadding{of_joined, padded_joined.data(), weight_joined.data()});
  finish.add(ChunkAddition{sum, static_cast<int>(sums.size()), chunks.data(), sums.data()});
  finish.run();
  results.insert(results.end(), {weight, weight_joined, sums});
}

/// Blocks of full length and shorter ones, in two rows of blocks; the last row is not full.
void add_norms(std::vector<Values>& results) {
  std::vector<BlockNorms::Block> blocks;
  std::size_t elements = 0;
  for (const std::size_t count :
       {1024, 1024, 7, 300, 1024, 16, 1, 90, 250, 33, 5, 8, 1000, 64, 15, 17, 600, 2, 128}) {
    blocks.push_back({elements, count});
    elements += count;
  }
  const Values values = random_values(elements, 20);
  std::vector<double> sums(blocks.size());
  measure(nullptr, {.blocks = blocks.data()}, 0, blocks.size(), values.data(), sums.data());
  results.emplace_back(sums.begin(), sums.end());
}

/// More samples than a block has threads, with all that is drawn for them.
void add_chosen_samples(std::vector<Values>& results) {
  constexpr std::uint32_t size = 300, all = 1000;
  const AugmentOptions augment{.crop_padding = 2, .hflip = 0.5, .cutout = 3, .mixup = 0.2};
  MicroBatchRule rule = MicroBatchRule::make(augment, {1, 8, 8}, all, 9);
  rule.start_epoch(3);
  std::vector<std::int32_t> labels(all), batch_labels(size), partner_labels(size);
  for (std::uint32_t i = 0; i < all; ++i) labels[i] = static_cast<std::int32_t>(i % 10);
  std::vector<std::uint64_t> ids(size);
  Values shares(size);
  RandomKey key;
  constexpr std::size_t sample_bytes = 64;
  const std::vector<std::byte> array(all * sample_bytes);
  std::vector<const std::byte*> samples(size);
  std::vector<PixelPlacement> placements(size);
  Wide visits;
  MicroBatch batch;
  batch.size = size;
  batch.ids = ids.data();
  batch.labels = batch_labels.data();
  batch.partner_labels = partner_labels.data();
  batch.shares = shares.data();
  batch.random = &key;
  batch.samples = samples.data();
  choose_samples(nullptr, {.rule = rule,
                           .array = {array.data(), sample_bytes, labels.data()},
                           .log = {},
                           .full_size = size,
                           .leaf = 1,
                           .batch = batch,
                           .placements = placements.data(),
                           .visits = &visits});
  results.emplace_back(ids.begin(), ids.end());
  results.emplace_back(batch_labels.begin(), batch_labels.end());
  results.emplace_back(partner_labels.begin(), partner_labels.end());
  results.push_back(shares);
  Values numbers;
  for (const std::byte* sample : samples) numbers.push_back(static_cast<float>(sample - array.data()));
  results.push_back(numbers);
  Values down;
  for (const PixelPlacement& each : placements) down.push_back(static_cast<float>(each.down));
  results.push_back(down);
  results.push_back({static_cast<float>(visits.low >> 40), static_cast<float>(visits.high >> 40)});
}

}  // namespace
}  // namespace cuda

std::vector<std::vector<float>> kernel_results(const std::string& kernels) {
  std::vector<std::vector<float>> results;
  if (kernels == "batch_norm") cuda::add_batch_norm(results);
  if (kernels == "batch_norm_in_evaluation") cuda::add_batch_norm_in_evaluation(results);
  if (kernels == "cross_entropy") {
    cuda::add_cross_entropy(results, 5, 10);
    cuda::add_cross_entropy(results, 3, 300);
  }
  if (kernels == "group_norm") cuda::add_group_norm(results);
  if (kernels == "finish_gradients") cuda::add_finished_gradients(results);
  if (kernels == "norms") cuda::add_norms(results);
  if (kernels == "choose_samples") cuda::add_chosen_samples(results);
  return results;
}

}  // namespace lockstep
