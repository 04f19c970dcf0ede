// Micro-batches gathered by GPU kernels, compared with the CPU's micro-batches.
#include "data/cuda/gather.h"

#include <gtest/gtest.h>

#include <cstring>

#include "data/cuda/device_dataset.h"
#include "data/feed/loader.h"
#include "data/feed/micro_batch_reader.h"
#include "data/feed/target.h"
#include "lockstep/sampler.h"
#include "ops/cpu/level.h"
#include "ops/cpu/op.h"
#include "ops/lanes.h"
#include "support/device_array.h"
#include "support/synthetic.h"

namespace lockstep::cuda {
namespace {

using lockstep::test::DeviceArray;
using lockstep::test::run_kernels;

/// Samples of pixels, or of floats from -1 to 1.
test::Synthetic make_samples(std::uint64_t size, Shape shape, Encoding encoding,
                             Task task = Task::classification) {
  test::Synthetic set(size, shape, 10);
  set.set_task(task);
  set.kind = encoding;
  if (encoding != Encoding::floats) return set;
  set.change = [](std::uint64_t /*id*/, std::vector<std::uint8_t>& bytes) {
    std::vector<float> values;
    for (const std::uint8_t pixel : bytes) values.push_back(static_cast<float>(pixel) / 127.5F - 1.0F);
    bytes.resize(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
  };
  return set;
}

struct Case {
  const char* name;
  Shape shape = {1, 9, 11};
  Shape target = {1, 9, 11};
  Encoding encoding = Encoding::pixels;
  InputOptions input = {};
  AugmentOptions augment = {};
  bool training = true;
  Task task = Task::classification;
};

constexpr std::uint64_t seed = 77;
constexpr std::uint64_t size = 37;
constexpr std::uint32_t micro_batch = 8;
constexpr std::uint64_t step_samples = 16;  // steps of 16, 16 and 5 samples

/// Values as the CPU loads them: [sample][row][column][channel].
std::vector<float> values_on_cpu(const MicroBatch& batch, const SampleFormat& format, Shape target) {
  constexpr std::size_t lanes = 16;
  lockstep::test::Lanes out(target.size() * lanes);
  cpu::gather(cpu::best_level(), batch, format, 0, target, out.data());
  std::vector<float> values;
  const auto pixels = static_cast<std::size_t>(target.height * target.width);
  for (std::size_t sample = 0; sample < batch.size; ++sample) {
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(target.channels); ++c) {
        values.push_back(out.data()[(c * pixels + pixel) * lanes + sample]);
      }
    }
  }
  return values;
}

class Gathering {
 public:
  explicit Gathering(const Case& given)
      : case_(given),
        dataset_(make_samples(size, given.shape, given.encoding, given.task)),
        loader_(dataset_, micro_batch, given.input, given.augment, given.training ? seed : 0),
        bad_(true),
        reader_(dataset_, loader_.transform(), bad_, micro_batch),
        device_(make_cuda_device()),
        on_device_(*device_, dataset_),
        layout_(micro_batch, 0, loader_.transform().mixes(), target_count(dataset_)),
        block_(*device_, layout_.bytes(0)) {}

  void check_epoch(std::uint32_t epoch) {
    if (case_.training) loader_.start_epoch(epoch);
    const Wide before = visits_.fetch()[0];
    for (std::uint64_t first = 0; first < size; first += step_samples) {
      const std::uint64_t samples = std::min(step_samples, size - first);
      input_.store({{.first = first, .samples = samples, .epoch = epoch}});
      loader_.set_step(first, samples);
      for (std::uint32_t leaf = 0; leaf < loader_.leaves(samples); ++leaf) check_leaf(leaf);
    }
    Wide expected = before;
    const auto words = VisitSum::expected(size).words();
    expected += {words[0], words[1]};
    EXPECT_EQ(visits_.fetch()[0].low, expected.low);
    EXPECT_EQ(visits_.fetch()[0].high, expected.high);
  }

 private:
  void check_leaf(std::uint32_t leaf) {
    const std::uint32_t samples = loader_.samples(leaf);
    std::vector<std::uint64_t> ids;
    for (std::uint32_t i = 0; i < samples; ++i) {
      ids.push_back(loader_.rule().id(loader_.position(leaf) + i));
    }
    const MicroBatch& expected = reader_.read(loader_.rule(), loader_.number(leaf), ids);
    MicroBatch drawn = layout_.arrays(block_.data(), samples);
    drawn.samples = samples_.data();
    run_kernels(*device_, [&](StreamHandle stream) {
      const StepLog log{input_.data(), outcome_.data(), position_.data()};
      choose_samples(stream, {.rule = loader_.transform().rule(),
                              .array = on_device_.array(),
                              .log = case_.training ? log : StepLog{},
                              .full_size = micro_batch,
                              .leaf = case_.training ? leaf : loader_.number(leaf),
                              .batch = drawn,
                              .placements = placements_.data(),
                              .visits = visits_.data()});
    });
    std::vector<std::byte> fetched = block_.fetch();
    const MicroBatch actual = layout_.arrays(fetched.data(), samples);
    expect_equal(actual.ids, expected.ids, samples);
    expect_equal(actual.labels, expected.labels, samples);
    ASSERT_EQ(actual.target_count, expected.target_count);
    expect_equal(actual.targets, expected.targets, samples * actual.target_count);
    ASSERT_EQ(actual.mixes(), expected.mixes());
    if (actual.mixes()) {
      expect_equal(actual.partner_labels, expected.partner_labels, samples);
      expect_equal(actual.shares, expected.shares, samples);
    }
    EXPECT_EQ(actual.random->seed, expected.random->seed);
    EXPECT_EQ(actual.random->epoch, expected.random->epoch);
    check_images(drawn, expected);
  }

  template <class T>
  static void expect_equal(const T* actual, const T* expected, std::uint32_t count) {
    EXPECT_TRUE(std::equal(actual, actual + count, expected));
  }

  void check_images(const MicroBatch& drawn, const MicroBatch& batch) {
    const int stored = (case_.target.channels + 7) / 8 * 8;
    const Transform& transform = loader_.transform();
    const DeviceArray<float> mean(*device_, {transform.mean().begin(), transform.mean().end()});
    const DeviceArray<float> deviation(*device_,
                                       {transform.deviation().begin(), transform.deviation().end()});
    SampleFormat format = transform.format();
    format.mean = mean.data();
    format.deviation = deviation.data();
    const ImageGather gather{.batch = drawn,
                             .format = format,
                             .placements = placements_.data(),
                             .cutout = case_.augment.cutout,
                             .target = case_.target,
                             .stored_channels = stored};
    const auto pixels =
        std::size_t{drawn.size} * static_cast<std::size_t>(case_.target.height * case_.target.width);
    const std::size_t count = pixels * static_cast<std::size_t>(stored);
    const DeviceArray<float> output(*device_, std::vector<float>(count, -1.0F));
    const DeviceArray<Bfloat16> halves(*device_, count);
    run_kernels(*device_, [&](StreamHandle stream) {
      gather_images(stream, gather, output.data());
      gather_images(stream, gather, halves.data());
    });
    check_values(batch, output.fetch(), halves.fetch());
  }

  void check_values(const MicroBatch& batch, const std::vector<float>& values,
                    const std::vector<Bfloat16>& halves) const {
    const std::size_t stored = static_cast<std::size_t>(case_.target.channels + 7) / 8 * 8;
    const std::vector<float> expected = values_on_cpu(batch, loader_.transform().format(), case_.target);
    const auto channels = static_cast<std::size_t>(case_.target.channels);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t channel = i % stored;
      const std::size_t pixel = i / stored;
      const float value = channel < channels ? expected[pixel * channels + channel] : 0.0F;
      ASSERT_EQ(values[i], value) << "pixel " << pixel << ", channel " << channel;
      ASSERT_EQ(halves[i].bits, from_float<Bfloat16>(value).bits);
    }
  }

  Case case_;
  test::Synthetic dataset_;
  Loader loader_;
  BadSamples bad_;
  MicroBatchReader reader_;
  std::unique_ptr<Device> device_;
  DeviceDataset on_device_;
  MicroBatchLayout layout_;
  DeviceArray<std::byte> block_;
  DeviceArray<StepInput> input_{*device_, 1};
  DeviceArray<StepOutcome> outcome_{*device_, 1};
  DeviceArray<std::uint32_t> position_{*device_, 1};
  DeviceArray<PixelPlacement> placements_{*device_, micro_batch};
  DeviceArray<const std::byte*> samples_{*device_, micro_batch};
  DeviceArray<Wide> visits_{*device_, 1};
};

class GatherKernels : public ::testing::TestWithParam<Case> {};
TEST_P(GatherKernels, LoadWhatTheCpuLoads) {
  Gathering gathering(GetParam());
  for (const std::uint32_t epoch : {0U, 1U, 2U}) {
    if (GetParam().training || epoch == 0) gathering.check_epoch(epoch);
  }
}

constexpr Shape grey = {1, 9, 11};
constexpr Shape colour = {3, 10, 8};
INSTANTIATE_TEST_SUITE_P(
    Options, GatherKernels,
    ::testing::Values(Case{.name = "plain"}, Case{.name = "evaluation", .training = false},
                      Case{.name = "colour", .shape = colour, .target = colour},
                      Case{.name = "cropped", .shape = colour, .target = {3, 9, 5}},
                      Case{.name = "many_channels", .shape = {19, 2, 3}, .target = {19, 2, 3}},
                      Case{.name = "normalised",
                           .shape = colour,
                           .target = colour,
                           .input = {.mean = {0.1, 0.2, 0.3}, .deviation = {0.3, 0.7, 0.9}}},
                      Case{.name = "flip", .augment = {.hflip = 0.5}},
                      Case{.name = "crop", .shape = colour, .target = colour, .augment = {.crop_padding = 3}},
                      Case{.name = "crop_far", .augment = {.crop_padding = 12}},
                      Case{.name = "cutout", .input = {.mean = {0.5}}, .augment = {.cutout = 5}},
                      Case{.name = "all",
                           .shape = colour,
                           .target = {3, 8, 7},
                           .input = {.mean = {0.1, 0.2, 0.3}, .deviation = {0.3}},
                           .augment = {.crop_padding = 2, .hflip = 0.5, .cutout = 4, .mixup = 0.4}},
                      Case{.name = "mixup", .augment = {.mixup = 0.2}},
                      Case{.name = "regression", .training = false, .task = Task::regression},
                      Case{.name = "multilabel", .augment = {.mixup = 0.2}, .task = Task::multilabel},
                      Case{.name = "mixup_above_one", .augment = {.mixup = 3.0}},
                      Case{.name = "floats", .shape = {21}, .target = {21}, .encoding = Encoding::floats},
                      Case{.name = "floats_all",
                           .shape = {2, 3, 5},
                           .target = {2, 3, 4},
                           .encoding = Encoding::floats,
                           .input = {.mean = {0.1, -0.2}, .deviation = {0.3, 0.7}},
                           .augment = {.mixup = 1.0}}),
    [](const auto& instance) { return instance.param.name; });

TEST(DataSets, RunOnTheDeviceUnlessTheyAreFilesOrNewPixelsAreComputed) {
  const test::Synthetic pixels = make_samples(1, grey, Encoding::pixels),
                        floats = make_samples(1, grey, Encoding::floats);
  EXPECT_TRUE(runs_on_device(pixels, {}));
  EXPECT_TRUE(runs_on_device(floats, {.mixup = 1.0}));
  EXPECT_TRUE(runs_on_device(pixels, {.crop_padding = 4, .hflip = 0.5, .cutout = 3, .mixup = 1.0}));
  EXPECT_FALSE(runs_on_device(pixels, {.randaugment = "rand-m9-n2"}));
  EXPECT_FALSE(runs_on_device(pixels, {.random_resized_crop = true}));
  EXPECT_FALSE(runs_on_device(make_samples(1, grey, Encoding::image_file), {}));
  EXPECT_EQ(DeviceDataset::bytes(floats), grey.size() * 4 + 4);
  EXPECT_EQ(DeviceDataset::bytes(make_samples(1, grey, Encoding::floats, Task::multilabel)),
            grey.size() * 4 + 4 + 10 * 4);
}

}  // namespace
}  // namespace lockstep::cuda
