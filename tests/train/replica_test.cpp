#include "lockstep/replica.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <thread>

#include "lockstep/optimizer.h"
#include "lockstep/sampler.h"
#include "lockstep/trainer.h"
#include "support/expect_error.h"
#include "train/small_run.h"

namespace lockstep::test {
namespace {

/// Dropout, running statistics and a short last micro-batch.
std::unique_ptr<Network> network_with_dropout() {
  auto network = std::make_unique<Network>(Shape{1, 12, 12});
  Value x = relu(batch_norm2d(conv2d(network->input(), {.channels = 6, .kernel = 3, .padding = 1})));
  x = dropout(flatten(max_pool2d(x, {.kernel = 2})), 0.4);
  network->output(linear(dropout(relu(linear(x, 24)), 0.5), 4));
  return network;
}

void update_by_hand(const Network& network, const Replica& replica, std::span<const float> sum,
                    std::uint64_t samples, float rate, std::span<float> parameters) {
  const Optimizer optimizer{OptimizerOptions{}};
  const float scale = 1.0F / static_cast<float>(samples);
  for (std::size_t i = 0; i < network.parameters().size(); ++i) {
    const Parameter& parameter = network.parameters()[i];
    const auto values = parameters.subspan(replica.offset(i), parameter.size());
    const auto sums = sum.subspan(replica.offset(i), parameter.size());
    if (parameter.trained()) {
      optimizer.update(values, sums, {}, {.gradient_scale = scale, .learning_rate = rate});
      continue;
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(1.0 - parameter.statistic_momentum) * values[k] +
                  static_cast<float>(parameter.statistic_momentum) * (sums[k] * scale);
    }
  }
}

/// Trains with the loop of examples/from_scratch.cpp and returns the digest.
std::string train_by_hand(const Network& network, const TrainerOptions& chosen) {
  const auto batch = static_cast<std::uint64_t>(chosen.batch.size);
  const auto part = batch / static_cast<std::uint64_t>(chosen.batch.micro_batches);
  Replica replica(network, train_set(),
                  {.micro_batch = static_cast<int>(part),
                   .input = chosen.input,
                   .augment = chosen.augment,
                   .seed = chosen.seed});
  std::vector<float> parameters(replica.elements());
  replica.initialize(parameters);
  GradientSum gradients(world(), replica.elements());
  for (std::uint32_t epoch = 0; epoch < static_cast<std::uint32_t>(chosen.epochs); ++epoch) {
    const Permutation order(train_set().size(), chosen.seed, epoch);
    for (std::uint64_t first = 0; first < train_set().size(); first += batch) {
      const std::uint64_t samples = std::min(batch, train_set().size() - first);
      gradients.start(static_cast<std::uint32_t>((samples + part - 1) / part));
      for (std::uint64_t begin = 0; begin < samples; begin += part) {
        std::vector<std::uint64_t> ids;
        for (std::uint64_t i = begin; i < std::min(samples, begin + part); ++i)
          ids.push_back(order(first + i));
        replica.forward_backward(
            ids, {.epoch = epoch, .number = static_cast<std::uint32_t>((first + begin) / part)}, parameters,
            gradients.next());
        gradients.add();
      }
      update_by_hand(network, replica, gradients.all_reduce(), samples, largest_learning_rate(chosen),
                     parameters);
    }
  }
  return replica.digest(parameters);
}

TEST(Replica, LoopByHandTrainsAsTheTrainerDoes) {
  const auto network = network_with_dropout();
  for (const bool augments : {false, true}) {
    TrainerOptions chosen = options();
    chosen.optimizer = {};
    chosen.seed = 5;
    if (augments) chosen = augmented(chosen);
    EXPECT_EQ(train_by_hand(*network, chosen), train(chosen, *network).digest) << augments;
  }
}

/// Products and sums of the parameters are denormal. The other thread starts before the replica is
/// constructed, so it does not inherit the treatment of denormals that the constructor sets.
TEST(Replica, HasTheSameBitsOnAThreadThatDidNotConstructIt) {
  std::promise<std::function<void()>> work;
  std::thread other([coming = work.get_future()]() mutable { coming.get()(); });
  Replica replica(small_network(), train_set(), {.micro_batch = 3});
  GradientSum sum(world(), replica.elements());
  const std::vector<float> parameters(replica.elements(), 1e-40F);
  std::vector<float> gradient(replica.elements());
  const std::vector<std::uint64_t> ids = {0, 1, 2};
  const auto compute = [&] {
    replica.forward_backward(ids, {}, parameters, gradient);
    for (int i = 0; i < 2; ++i) {
      std::ranges::copy(parameters, sum.next().begin());
      sum.add();
    }
  };
  const auto digests = [&](const std::function<void()>& run) {
    sum.start(2);
    run();
    return std::pair(replica.digest(gradient), replica.digest(sum.all_reduce()));
  };
  const auto expected = digests(compute);
  const auto found = digests([&] {
    work.set_value(compute);
    other.join();
  });
  EXPECT_EQ(found, expected);
}

TEST(Replica, RefusesWhatItLacks) {
  struct Mislabelled : Synthetic {
    using Synthetic::Synthetic;
    int label(std::uint64_t id) const override { return id == 17 ? -1 : Synthetic::label(id); }
  };
  const Mislabelled wrong(77, {1, 12, 12}, 4);
  expect_error(Category::data, {"data set: sample 17 has label -1"},
               [&] { Replica(small_network(), wrong, {}); });
  Replica replica(small_network(), test_set(), {});
  expect_error(Category::usage, {"there is no parameter 99: the network has "}, [&] { replica.offset(99); });
  std::vector<float> parameters(replica.elements()), gradient(replica.elements());
  const std::vector<std::uint64_t> ids = {76, 77};
  replica.forward_backward(std::span(ids).first(1), {}, parameters, gradient);
  expect_error(Category::usage, {"there is no sample 77: the data set has 77, numbered from 0"},
               [&] { replica.forward_backward(ids, {}, parameters, gradient); });
}

TEST(GradientSum, AStepHasAMicroBatch) {
  GradientSum gradients(world(), 16);
  expect_error(Category::usage, {"a step of 0 micro-batches was started"}, [&] { gradients.start(0); });
}

}  // namespace
}  // namespace lockstep::test
