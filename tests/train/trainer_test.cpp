#include "lockstep/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lockstep/error.h"
#include "lockstep/models.h"
#include "lockstep/replica.h"
#include "train/count_allocations.h"
#include "train/synthetic.h"

namespace lockstep {
namespace {

using test::Synthetic;
using test::world;

const Synthetic& train_set() {
  static const Synthetic set(300, {1, 12, 12}, 4);
  return set;
}
const Synthetic& test_set() {
  static const Synthetic set(77, {1, 12, 12}, 4);
  return set;
}

/// Branches, an addition, every fused and unfused form that the small images allow.
std::unique_ptr<Network> small_network() {
  auto network = std::make_unique<Network>(Shape{1, 12, 12});
  Value x = relu(conv2d(network->input(), {.channels = 6, .kernel = 3, .padding = 1}));
  x = x + conv2d(relu(conv2d(x, {.channels = 6, .kernel = 3, .padding = 1})),
                 {.channels = 6, .kernel = 3, .padding = 1});
  x = avg_pool2d(relu(x), {.kernel = 2});
  x = avg_pool2d(relu(conv2d(x, {.channels = 9, .kernel = 3, .stride = 1})), {.kernel = 2});
  x = relu(linear(flatten(x), 21));
  network->output(linear(x, 4));
  return network;
}

TrainerOptions options() {
  return {.epochs = 2,
          .batch_size = 64,
          .micro_batches = 4,
          .learning_rate = 0.1F,
          .momentum = 0.5F,
          .threads = 1};
}

std::string digest(const TrainerOptions& chosen) {
  const auto network = small_network();
  Trainer trainer(world(), *network, train_set(), test_set(), chosen);
  trainer.fit();
  return trainer.digest();
}

TEST(Trainer, LearnsAndEvaluatesEverySampleOnce) {
  const auto network = small_network();
  TrainerOptions chosen = options();
  chosen.epochs = 24;
  Trainer trainer(world(), *network, train_set(), test_set(), chosen);
  std::vector<EpochReport> epochs;
  trainer.on_epoch = [&](const EpochReport& report) { epochs.push_back(report); };
  trainer.fit();
  ASSERT_EQ(epochs.size(), 24U);
  EXPECT_EQ(epochs[0].train.samples, 300U);
  EXPECT_EQ(epochs[0].test.samples, 77U);
  EXPECT_LT(epochs[23].train.loss, 0.5 * epochs[0].train.loss);
  EXPECT_GT(epochs[23].test.accuracy, 0.9);
}

TEST(Trainer, ThreadsChangeNoBits) {
  TrainerOptions chosen = options();
  const std::string expected = digest(chosen);
  for (const int threads : {2, 3, 4, 8}) {
    chosen.threads = threads;
    EXPECT_EQ(digest(chosen), expected) << threads;
  }
}

TEST(Trainer, VectorLevelsChangeNoBits) {
  TrainerOptions chosen = options();
  const std::string expected = digest(chosen);
  for (const char* level : {"avx2", "avx512", "neon"}) {
    chosen.simd = level;
    try {
      EXPECT_EQ(digest(chosen), expected) << level;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::usage);  // not on this machine
    }
  }
}

TEST(Trainer, MaxStepsEndsInsideAnEpoch) {
  const auto network = small_network();
  TrainerOptions chosen = options();
  chosen.max_steps = 7;  // five steps an epoch
  Trainer trainer(world(), *network, train_set(), test_set(), chosen);
  std::vector<StepReport> steps;
  trainer.on_step = [&](const StepReport& report) { steps.push_back(report); };
  trainer.fit();
  ASSERT_EQ(steps.size(), 7U);
  EXPECT_EQ(steps[4].samples, 300U - 4 * 64);
  EXPECT_EQ(steps[6].step, 7U);
  EXPECT_EQ(steps[6].epoch, 2);
  EXPECT_EQ(steps[6].steps, 7U);
}

InputOptions augmented() {
  return {.mean = {0.3},
          .deviation = {0.4},
          .augment = {.random_resized_crop = true,
                      .crop_padding = 1,
                      .hflip = 0.5,
                      .randaugment = "rand-m9-n3",
                      .cutout = 3,
                      .mixup = 0.2}};
}

TEST(Trainer, AugmentationChangesTheRunButThreadsDoNot) {
  TrainerOptions chosen = options();
  const std::string plain = digest(chosen);
  chosen.input = augmented();
  const std::string expected = digest(chosen);
  EXPECT_NE(expected, plain);
  chosen.threads = 3;
  EXPECT_EQ(digest(chosen), expected);
}

TEST(Trainer, ImpossibleInputOptionsAreUsageErrors) {
  const std::vector<InputOptions> cases = {{.mean = {0.1, 0.2}},
                                           {.deviation = {0.0}},
                                           {.crop_share = 0.0},
                                           {.augment = {.randaugment = "rand"}},
                                           {.augment = {.scale_min = 0.5, .scale_max = 0.4}},
                                           {.augment = {.hflip = 1.5}}};
  for (const InputOptions& input : cases) {
    TrainerOptions chosen = options();
    chosen.input = input;
    try {
      digest(chosen);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::usage) << error.what();
    }
  }
}

/// Samples that cannot be read, among them all of a micro-batch.
class Damaged : public Synthetic {
 public:
  Damaged() : Synthetic(40, {1, 12, 12}, 4) {}
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    if (id < 17) throw Error(Category::data, sample_name(id) + ": damaged");
    return Synthetic::sample(id, buffer);
  }
};

TEST(Trainer, SamplesThatCannotBeReadAreNotCounted) {
  const auto network = small_network();
  const Damaged damaged;
  TrainerOptions chosen = options();
  chosen.batch_size = 8;
  Trainer trainer(world(), *network, damaged, damaged, chosen);
  const Evaluation evaluation = trainer.evaluate(damaged);
  EXPECT_EQ(evaluation.samples, 23U);
  EXPECT_NEAR(evaluation.loss, std::log(4.0), 0.5);
  std::vector<EpochReport> epochs;
  trainer.on_epoch = [&](const EpochReport& report) { epochs.push_back(report); };
  trainer.fit();
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_EQ(epochs[0].train.samples, 23U);
  EXPECT_TRUE(std::isfinite(epochs[1].train.loss));
}

TEST(Trainer, TheStepAllocatesNothingAfterTheFirstEpoch) {
  for (const int threads : {1, 2}) {
    const auto network = small_network();
    TrainerOptions chosen = options();
    chosen.threads = threads;
    if (threads == 2) chosen.input = augmented();
    Trainer trainer(world(), *network, train_set(), test_set(), chosen);
    for (std::uint64_t i = 0; i < trainer.steps_per_epoch(); ++i) {
      trainer.step();
    }
    const std::uint64_t before = test::allocations();
    for (int i = 0; i < 20; ++i) {
      trainer.step();
    }
    EXPECT_EQ(test::allocations() - before, 0U) << threads << " threads";
  }
}

TEST(Trainer, LossThatIsNoNumberIsAnErrorWithStepAndRate) {
  const auto network = small_network();
  TrainerOptions chosen = options();
  chosen.learning_rate = 1e30F;
  Trainer trainer(world(), *network, train_set(), test_set(), chosen);
  try {
    trainer.fit();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::data);
    EXPECT_NE(std::string(error.what()).find("learning rate 1e+30"), std::string::npos) << error.what();
  }
}

TEST(Trainer, RefusesImpossibleOptions) {
  const auto network = small_network();
  const auto refused = [&](const std::function<void(TrainerOptions&)>& change) {
    TrainerOptions chosen = options();
    change(chosen);
    EXPECT_THROW(Trainer(world(), *network, train_set(), test_set(), chosen), Error);
  };
  refused([](TrainerOptions& o) { o.batch_size = 0; });
  refused([](TrainerOptions& o) { o.batch_size = -1; });
  refused([](TrainerOptions& o) { o.micro_batches = 3; });
  refused([](TrainerOptions& o) { o.learning_rate = std::nanf(""); });
  refused([](TrainerOptions& o) { o.threads = -1; });
  refused([](TrainerOptions& o) { o.optimizer = "none"; });
  refused([](TrainerOptions& o) {
    o.batch_size = 512;
    o.drop_last = true;
  });
  const Synthetic other(10, {3, 12, 12}, 4);
  EXPECT_THROW(Trainer(world(), *network, other, test_set(), options()), Error);
}

/// Gradients of the whole network against differences of its loss, through the public pieces.
TEST(Replica, GradientIsTheDerivativeOfTheLoss) {
  const auto network = small_network();
  Replica replica(*network, train_set(), 16);
  std::vector<float> parameters(replica.elements());
  replica.initialize(3, parameters);
  const std::vector<std::uint64_t> ids{5, 17, 42, 60, 61, 62, 63};
  std::vector<float> gradient(replica.elements());
  std::vector<float> ignored(replica.elements());
  replica.forward_backward(ids, parameters, gradient);
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < parameters.size(); i += 13) {
    const float h = 5e-3F;
    std::vector<float> moved = parameters;
    moved[i] = parameters[i] + h;
    const double up = replica.forward_backward(ids, moved, ignored).loss;
    moved[i] = parameters[i] - h;
    const double down = replica.forward_backward(ids, moved, ignored).loss;
    error += std::pow((up - down) / (2.0 * h) - gradient[i], 2);
    size += std::pow(gradient[i], 2);
  }
  EXPECT_LT(std::sqrt(error / size), 0.1);  // a wrong one is off by its own size; the exact check is per op
}

TEST(DefaultMicroBatches, AreTheLargestPowerOfTwoThatLeaves32Samples) {
  EXPECT_EQ(default_micro_batches(256), 8);
  EXPECT_EQ(default_micro_batches(250), 2);
  EXPECT_EQ(default_micro_batches(64), 2);
  EXPECT_EQ(default_micro_batches(63), 1);
  EXPECT_EQ(default_micro_batches(1), 1);
}

}  // namespace
}  // namespace lockstep
