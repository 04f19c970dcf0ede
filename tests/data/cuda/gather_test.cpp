// Micro-batches that the GPU's kernels gather, against the loader, the reader and the gather of the CPU.
#include "data/cuda/gather.h"

#include <gtest/gtest.h>

#include <random>

#include "data/batch_reader.h"
#include "data/cuda/device_dataset.h"
#include "data/loader.h"
#include "ops/cpu/level.h"
#include "ops/cpu/op.h"
#include "ops/lanes.h"
#include "support/device_array.h"

namespace lockstep::cuda {
namespace {

using lockstep::testing::DeviceArray;
using lockstep::testing::run_kernels;

class Noise : public Dataset {
 public:
  Noise(std::uint64_t size, Shape shape, Encoding encoding) : shape_(shape), encoding_(encoding) {
    std::mt19937 random(5);
    bytes_.resize(size);
    for (auto& sample : bytes_) {
      sample.resize(shape.size() * (encoding == Encoding::floats ? sizeof(float) : 1));
      for (std::size_t i = 0; i < shape.size(); ++i) {
        if (encoding == Encoding::floats) {
          const float value = static_cast<float>(random()) * 0x1p-31F - 1.0F;
          std::memcpy(sample.data() + i * sizeof value, &value, sizeof value);
        } else {
          sample[i] = static_cast<std::uint8_t>(random());
        }
      }
      labels_.push_back(static_cast<int>(random() % 10));
    }
  }
  std::uint64_t size() const override { return bytes_.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return 10; }
  Encoding encoding() const override { return encoding_; }
  std::span<const std::uint8_t> sample(std::uint64_t id,
                                       std::vector<std::uint8_t>& /*buffer*/) const override {
    return bytes_[id];
  }
  int label(std::uint64_t id) const override { return labels_[id]; }

 private:
  Shape shape_;
  Encoding encoding_;
  std::vector<std::vector<std::uint8_t>> bytes_;
  std::vector<int> labels_;
};

struct Case {
  const char* name;
  Shape shape = {1, 9, 11};
  Shape target = {1, 9, 11};
  Encoding encoding = Encoding::pixels;
  InputOptions input = {};
  AugmentOptions augment = {};
  bool training = true;
};

constexpr std::uint64_t seed = 77;
constexpr std::uint64_t size = 37;
constexpr std::uint32_t micro_batch = 8;
constexpr std::uint64_t step_samples = 16;  // steps of 16, 16 and 5 samples

/// What the CPU loads, [sample][row][column][channel].
std::vector<float> values_on_cpu(const Batch& batch, Shape shape, Shape target) {
  constexpr std::size_t lanes = 16;
  lockstep::testing::Lanes out(target.size() * lanes);
  cpu::gather_group(cpu::best_level())(batch, 0, shape, target, out.data());
  std::vector<float> values;
  const auto pixels = static_cast<std::size_t>(target.height * target.width);
  for (std::size_t sample = 0; sample < batch.samples(); ++sample) {
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
        dataset_(size, given.shape, given.encoding),
        loader_(dataset_, micro_batch, given.input,
                {.augment = given.augment, .seed = given.training ? seed : 0}),
        bad_(true),
        reader_(dataset_, loader_.transform(), bad_, micro_batch),
        device_(make_cuda_device({})),
        on_device_(*device_, dataset_) {
    const AugmentOptions& augment = given.augment;
    choice_ = {.size = size,
               .micro_batch = micro_batch,
               .seed = loader_.transform().seed(),
               .shuffled = given.training,
               .labels = on_device_.labels(),
               .shape = given.shape,
               .crop_padding = augment.crop_padding,
               .flip = augment.hflip,
               .cutout = augment.cutout,
               .mixup = augment.mixup};
  }

  void check_epoch(std::uint32_t epoch) {
    if (case_.training) loader_.shuffle(seed, epoch);
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
    for (std::uint32_t i = 0; i < samples; ++i) ids.push_back(loader_.id(leaf, i));
    const Batch batch = reader_.read(ids, {.epoch = loader_.epoch(), .number = loader_.number(leaf)});
    run_kernels(*device_, [&](StreamHandle stream) {
      choose_samples(stream, choice_, {input_.data(), outcome_.data(), position_.data()}, leaf, samples,
                     {.placed = placed_.data(),
                      .ids = ids_.data(),
                      .labels = labels_.data(),
                      .other_labels = other_labels_.data(),
                      .shares = shares_.data(),
                      .random = random_.data(),
                      .visits = visits_.data()});
    });
    expect_equal(batch.ids, ids_);
    expect_equal(batch.labels, labels_);
    expect_equal(batch.other_labels, other_labels_);
    expect_equal(batch.share, shares_);
    EXPECT_EQ(random_.fetch()[0].seed, batch.random.seed);
    EXPECT_EQ(random_.fetch()[0].epoch, batch.random.epoch);
    check_images(batch, samples);
  }

  template <class T>
  static void expect_equal(std::span<const T> expected, const DeviceArray<T>& array) {
    const std::vector<T> values = array.fetch();
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), values.begin()));
  }

  void check_images(const Batch& batch, std::uint32_t samples) {
    const int stored = (case_.target.channels + 7) / 8 * 8;
    const DeviceArray<float> mean(*device_, {batch.mean.begin(), batch.mean.end()});
    const DeviceArray<float> deviation(*device_, {batch.deviation.begin(), batch.deviation.end()});
    const ImageGather gather{.array = on_device_.samples(),
                             .samples = samples,
                             .placed = placed_.data(),
                             .cutout = choice_.cutout,
                             .shares = choice_.mixup > 0.0 ? shares_.data() : nullptr,
                             .mean = mean.data(),
                             .deviation = deviation.data(),
                             .target = case_.target,
                             .stored_channels = stored};
    const auto pixels =
        std::size_t{samples} * static_cast<std::size_t>(case_.target.height * case_.target.width);
    const std::size_t count = pixels * static_cast<std::size_t>(stored);
    const DeviceArray<float> output(*device_, std::vector<float>(count, -1.0F));
    const DeviceArray<Bfloat16> halves(*device_, count);
    run_kernels(*device_, [&](StreamHandle stream) {
      gather_images(stream, gather, output.data());
      gather_images(stream, gather, halves.data());
    });
    check_values(batch, output.fetch(), halves.fetch());
  }

  void check_values(const Batch& batch, const std::vector<float>& values,
                    const std::vector<Bfloat16>& halves) const {
    const std::size_t stored = static_cast<std::size_t>(case_.target.channels + 7) / 8 * 8;
    const std::vector<float> expected = values_on_cpu(batch, case_.shape, case_.target);
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
  Noise dataset_;
  Loader loader_;
  BadSamples bad_;
  BatchReader reader_;
  std::unique_ptr<Device> device_;
  DeviceDataset on_device_;
  SampleChoice choice_;
  DeviceArray<StepInput> input_{*device_, 1};
  DeviceArray<StepOutcome> outcome_{*device_, 1};
  DeviceArray<std::uint32_t> position_{*device_, 1};
  DeviceArray<PlacedSample> placed_{*device_, micro_batch};
  DeviceArray<std::uint64_t> ids_{*device_, micro_batch};
  DeviceArray<std::int32_t> labels_{*device_, micro_batch};
  DeviceArray<std::int32_t> other_labels_{*device_, micro_batch};
  DeviceArray<float> shares_{*device_, micro_batch};
  DeviceArray<RandomKey> random_{*device_, 1};
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
                      Case{.name = "mixup_above_one", .augment = {.mixup = 3.0}},
                      Case{.name = "floats", .shape = {21}, .target = {21}, .encoding = Encoding::floats},
                      Case{.name = "floats_all",
                           .shape = {2, 3, 5},
                           .target = {2, 3, 4},
                           .encoding = Encoding::floats,
                           .input = {.mean = {0.1, -0.2}, .deviation = {0.3, 0.7}},
                           .augment = {.mixup = 1.0}}),
    [](const auto& instance) { return instance.param.name; });

TEST(GatherImages, OfAStagedMicroBatchTakesItAsItIs) {
  const Noise dataset(6, grey, Encoding::pixels);
  const auto device = make_cuda_device({});
  const DeviceDataset staged(*device, dataset);
  const DeviceArray<float> output(*device, 6 * grey.size() * 8);
  run_kernels(*device, [&](StreamHandle stream) {
    gather_images(stream, {.array = staged.samples(), .samples = 6, .target = grey, .stored_channels = 8},
                  output.data());
  });
  const std::vector<float> values = output.fetch();
  std::vector<std::uint8_t> buffer;
  for (std::size_t i = 0; i < 6 * grey.size(); ++i) {
    const std::uint8_t pixel = dataset.sample(i / grey.size(), buffer)[i % grey.size()];
    ASSERT_EQ(values[i * 8], static_cast<float>(pixel) / 255.0F);
  }
}

TEST(DataSets, RunOnTheDeviceUnlessTheyAreFilesOrNewPixelsAreComputed) {
  const Noise pixels(1, grey, Encoding::pixels), floats(1, grey, Encoding::floats);
  EXPECT_TRUE(runs_on_device(pixels, {}));
  EXPECT_TRUE(runs_on_device(floats, {.mixup = 1.0}));
  EXPECT_TRUE(runs_on_device(pixels, {.crop_padding = 4, .hflip = 0.5, .cutout = 3, .mixup = 1.0}));
  EXPECT_FALSE(runs_on_device(pixels, {.randaugment = "rand-m9-n2"}));
  EXPECT_FALSE(runs_on_device(pixels, {.random_resized_crop = true}));
  EXPECT_FALSE(runs_on_device(Noise(1, grey, Encoding::image_file), {}));
  EXPECT_EQ(DeviceDataset::bytes(floats), grey.size() * 4 + 4);
}

}  // namespace
}  // namespace lockstep::cuda
