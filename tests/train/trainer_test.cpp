#include "lockstep/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "data/expect_error.h"
#include "data/temporary_folder.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "lockstep/replica.h"
#include "lockstep/sampler.h"
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

/// Running statistics among the parameters.
std::unique_ptr<Network> network_with_batch_norm() {
  auto network = std::make_unique<Network>(Shape{1, 12, 12});
  Value x = relu(batch_norm2d(conv2d(network->input(), {.channels = 6, .kernel = 3, .padding = 1})));
  x = relu(batch_norm2d(conv2d(max_pool2d(x, {.kernel = 2}), {.channels = 8, .kernel = 3})));
  network->output(linear(flatten(adaptive_avg_pool2d(x)), 4));
  return network;
}

TrainerOptions options() {
  return {.epochs = 2,
          .batch_size = 64,
          .micro_batches = 4,
          .learning_rate = 0.1F,
          .optimizer = {.momentum = 0.5},
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

/// Samples that cannot be read: the first `bad` of 40; of 17, all of a micro-batch.
class Damaged : public Synthetic {
 public:
  explicit Damaged(std::uint64_t bad = 17, Category reason = Category::data)
      : Synthetic(40, {1, 12, 12}, 4), bad_(bad), reason_(reason) {}
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    if (id < bad_) throw Error(reason_, sample_name(id) + ": damaged");
    return Synthetic::sample(id, buffer);
  }

 private:
  std::uint64_t bad_;
  Category reason_;
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
  EXPECT_EQ(epochs[0].train.left_out, 17U);
  EXPECT_EQ(epochs[1].test.left_out, 17U);
  EXPECT_TRUE(std::isfinite(epochs[1].train.loss));
}

TEST(Trainer, DataSetsOfWhichNothingCanBeReadAreErrors) {
  const auto network = small_network();
  const Damaged all(40);
  const Damaged some(39);
  const auto fit = [&](const Dataset& train, const Dataset& test) {
    Trainer trainer(world(), *network, train, test, options());
    trainer.fit();
    EXPECT_EQ(trainer.evaluate(some).samples, 1U);
    expect_error(Category::data, {"none of the 40 samples can be read"}, [&] { trainer.evaluate(all); });
  };
  fit(some, some);
  expect_error(Category::data, {"none of the 40 training samples of epoch 1 can be read"},
               [&] { fit(all, some); });
  expect_error(Category::data, {"none of the 40 test samples can be read"}, [&] { fit(some, all); });
}

/// A machine without memory or descriptors for a moment must not change what is trained.
TEST(Trainer, FailuresThatAreNotTheSamplesEndTheRun) {
  const auto network = small_network();
  const Damaged failing(1, Category::resource);
  expect_error(Category::resource, {"sample 0: damaged"},
               [&] { Trainer(world(), *network, failing, test_set(), options()).fit(); });
}

TEST(Trainer, ThreadsChangeNoBitsOfClippedLayerwiseStepsWithBatchNorm) {
  const auto run = [](int threads) {
    const auto network = network_with_batch_norm();
    TrainerOptions chosen = options();
    chosen.optimizer = {.name = "lamb", .weight_decay = 0.01, .filter_bias_and_bn = true, .clip_grad = 1.0};
    chosen.learning_rate = 0.01F;
    chosen.threads = threads;
    Trainer trainer(world(), *network, train_set(), test_set(), chosen);
    trainer.fit();
    return trainer.digest();
  };
  const std::string expected = run(1);
  for (const int threads : {2, 3}) EXPECT_EQ(run(threads), expected) << threads;
}

/// Values of a parameter as saved.
std::vector<float> saved(const Trainer& trainer, const std::string& name) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "model.safetensors").string();
  trainer.save(file);
  const ModelFile model = ModelFile::read(file);
  for (const TensorInfo& tensor : model.tensors()) {
    if (tensor.name != name) continue;
    const auto values = model.floats(name, tensor.shape);
    return {values.begin(), values.end()};
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST(Trainer, RunningStatisticsMoveAndFrozenParametersStay) {
  const auto network = network_with_batch_norm();
  TrainerOptions chosen = options();
  chosen.optimizer.weight_decay = 0.1;
  chosen.optimizer.freeze = {"conv1", "bn2"};
  Trainer trainer(world(), *network, train_set(), test_set(), chosen);
  const auto weight = saved(trainer, "conv1.weight");
  trainer.fit();
  EXPECT_EQ(saved(trainer, "conv1.weight"), weight);
  for (const float value : saved(trainer, "bn1.running_mean")) EXPECT_NE(value, 0.0F);
  for (const float value : saved(trainer, "bn2.running_mean")) EXPECT_EQ(value, 0.0F);
}

TEST(Trainer, AveragesAreEvaluatedAndSavedButTheDigestIsTheTrainedOne) {
  const auto network = small_network();
  TrainerOptions chosen = options();
  chosen.epochs = 1;
  const std::string trained = digest(chosen);
  chosen.model_ema_decay = 0.9;
  Trainer trainer(world(), *network, train_set(), test_set(), chosen);
  const auto start = saved(trainer, "fc1.weight");
  Evaluation test;
  trainer.on_epoch = [&](const EpochReport& report) { test = report.test; };
  trainer.fit();
  EXPECT_EQ(trainer.digest(), trained);

  const TemporaryFolder folder;
  const std::string file = (folder.path() / "averages.safetensors").string();
  trainer.save(file);
  const ModelFile model = ModelFile::read(file);
  EXPECT_NE(lockstep::digest(*network, model), trained);
  EXPECT_EQ(evaluate(world(), *network, model, test_set(), {.micro_batch = 16, .threads = 1}).loss,
            test.loss);
  EXPECT_NE(saved(trainer, "fc1.weight"), start);
}

TEST(Trainer, EarlyStoppingEndsTheRunAndNamesTheBestEpoch) {
  const auto network = small_network();
  TrainerOptions chosen = options();
  chosen.epochs = 5;
  chosen.learning_rate = 0.0F;  // nothing ever gets better than after the first epoch
  for (const int patience : {0, 1, 3, 4}) {
    chosen.early_stopping = patience;
    Trainer trainer(world(), *network, train_set(), test_set(), chosen);
    std::vector<bool> best;
    trainer.on_epoch = [&](const EpochReport& report) { best.push_back(report.best); };
    trainer.fit();
    EXPECT_EQ(best.size(), patience == 0 ? 5U : static_cast<std::size_t>(1 + patience));
    EXPECT_EQ(std::count(best.begin(), best.end(), true), 1);
    EXPECT_EQ(trainer.best().epoch, 1);
    EXPECT_EQ(trainer.stopped_early(), patience == 1 || patience == 3);  // 4: all 5 epochs were trained
  }
}

class AllocationFree : public testing::TestWithParam<OptimizerOptions> {};
INSTANTIATE_TEST_SUITE_P(Rules, AllocationFree,
                         testing::Values(OptimizerOptions{.momentum = 0.5},
                                         OptimizerOptions{.name = "adamw", .clip_grad = 0.1},
                                         OptimizerOptions{.name = "lars", .momentum = 0.9},
                                         OptimizerOptions{.name = "lamb", .clip_grad = 0.1}),
                         [](const auto& instance) { return instance.param.name; });
TEST_P(AllocationFree, TheStepAfterTheFirstEpoch) {
  for (const int threads : {1, 2}) {
    const auto network = small_network();
    TrainerOptions chosen = options();
    chosen.optimizer = GetParam();
    chosen.learning_rate = 0.001F;
    chosen.model_ema_decay = 0.99;
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

TEST(Trainer, AStepWhoseLossIsNoNumberChangesNothing) {
  const auto diverge = [](std::uint64_t max_steps) {
    const auto network = small_network();
    TrainerOptions chosen = options();
    chosen.learning_rate = 1e30F;
    chosen.max_steps = max_steps;
    Trainer trainer(world(), *network, train_set(), test_set(), chosen);
    EXPECT_THROW(trainer.fit(), Error);
    return trainer.digest();
  };
  EXPECT_EQ(diverge(2), diverge(1));  // the second step's loss, the test's loss after the first
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
  refused([](TrainerOptions& o) { o.optimizer.name = "none"; });
  refused([](TrainerOptions& o) { o.optimizer.freeze = {"conv9"}; });
  refused([](TrainerOptions& o) { o.optimizer.clip_grad = -1.0; });
  refused([](TrainerOptions& o) { o.model_ema_decay = 1.0; });
  refused([](TrainerOptions& o) { o.early_stopping = -1; });
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
  Replica replica(*network, train_set(), {.micro_batch = 16, .seed = 3});
  std::vector<float> parameters(replica.elements());
  replica.initialize(parameters);
  const std::vector<std::uint64_t> ids{5, 17, 42, 60, 61, 62, 63};
  std::vector<float> gradient(replica.elements());
  std::vector<float> ignored(replica.elements());
  replica.forward_backward(ids, {}, parameters, gradient);
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < parameters.size(); i += 13) {
    const float h = 5e-3F;
    std::vector<float> moved = parameters;
    moved[i] = parameters[i] + h;
    const double up = replica.forward_backward(ids, {}, moved, ignored).loss;
    moved[i] = parameters[i] - h;
    const double down = replica.forward_backward(ids, {}, moved, ignored).loss;
    error += std::pow((up - down) / (2.0 * h) - gradient[i], 2);
    size += std::pow(gradient[i], 2);
  }
  EXPECT_LT(std::sqrt(error / size), 0.1);  // a wrong one is off by its own size; the exact check is per op
}

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
  const auto optimizer = make_optimizer({});
  const float scale = 1.0F / static_cast<float>(samples);
  for (std::size_t i = 0; i < network.parameters().size(); ++i) {
    const Parameter& parameter = network.parameters()[i];
    const auto values = parameters.subspan(replica.offset(i), parameter.size());
    const auto sums = sum.subspan(replica.offset(i), parameter.size());
    if (parameter.trained()) {
      optimizer->update(values, sums, {}, {.gradient_scale = scale, .learning_rate = rate});
      continue;
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(1.0 - parameter.statistic_momentum) * values[k] +
                  static_cast<float>(parameter.statistic_momentum) * (sums[k] * scale);
    }
  }
}

/// The loop of examples/from_scratch.cpp.
std::string train_by_hand(const Network& network, const TrainerOptions& chosen) {
  const auto batch = static_cast<std::uint64_t>(chosen.batch_size);
  const auto part = batch / static_cast<std::uint64_t>(chosen.micro_batches);
  Replica replica(network, train_set(),
                  {.micro_batch = static_cast<int>(part), .input = chosen.input, .seed = chosen.seed});
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
      update_by_hand(network, replica, gradients.all_reduce(), samples, chosen.learning_rate, parameters);
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
    if (augments) chosen.input = augmented();
    Trainer trainer(world(), *network, train_set(), test_set(), chosen);
    trainer.fit();
    EXPECT_EQ(train_by_hand(*network, chosen), trainer.digest()) << augments;
  }
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
