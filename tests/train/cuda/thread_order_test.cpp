// Kernels must return the same bits in whatever order the emulated GPU's threads process indices and rows.
#include <gtest/gtest.h>

#include "fake_cuda/fake_cuda.h"
#include "train/small_run.h"

namespace lockstep {
namespace {

using fake_cuda::Threads;

/// Network with the operations that other networks of the small runs lack.
std::unique_ptr<Network> network_with_the_rest() {
  auto network = std::make_unique<Network>(Shape{1, 12, 12});
  Value x =
      gelu(group_norm(conv2d(network->input(), {.channels = 6, .kernel = 3, .padding = 1}), {.groups = 2}));
  x = max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1});
  x = concat({relu6(conv2d(x, {.channels = 6, .kernel = 3, .padding = 1, .groups = 6})), silu(x)});
  x = max_pool2d(relu(conv2d(x, {.channels = 5})), {.kernel = 2});
  x = dropout(relu(linear(flatten(x), 16)), 0.3);
  network->output(linear(x, 4));
  return network;
}

TrainerOptions short_run(const std::string& optimizer, double learning_rate, DataType dtype) {
  TrainerOptions chosen = test::options();
  chosen.execution = {.device = DeviceKind::cuda, .dtype = dtype};
  chosen.reduce = Reduce::canonical;
  chosen.epochs = 1;
  chosen.learning_rate = learning_rate;
  chosen.input = {.mean = {0.3}, .deviation = {0.4}};
  chosen.augment = {.crop_padding = 1, .hflip = 0.5, .cutout = 3, .mixup = 0.2};
  chosen.optimizer = {.name = optimizer, .weight_decay = 0.1, .clip_grad = 1.0};
  chosen.model_ema = true;
  return chosen;
}

std::string digest_of(const TrainerOptions& chosen, const Network& network, Threads order) {
  fake_cuda::set_threads(order);
  const std::string digest = test::train(chosen, network).digest;
  fake_cuda::set_threads(Threads::ascending);
  return digest;
}

TEST(ThreadOrder, ChangesNoDigest) {
  const struct {
    std::unique_ptr<Network> network;
    TrainerOptions options;
  } runs[] = {{test::make_small_network(), short_run("lamb", 0.01, DataType::fp32)},
              {test::network_with_batch_norm(), short_run("lars", 0.1, DataType::bf16)},
              {network_with_the_rest(), short_run("adamw", 0.01, DataType::bf16)},
              {network_with_the_rest(), short_run("sgd", 0.1, DataType::fp32)}};
  for (const auto& run : runs) {
    const std::string expected = digest_of(run.options, *run.network, Threads::ascending);
    for (const Threads order : {Threads::descending, Threads::shuffled}) {
      EXPECT_EQ(digest_of(run.options, *run.network, order), expected) << run.options.optimizer.name;
    }
  }
}

}  // namespace
}  // namespace lockstep
