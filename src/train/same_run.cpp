#include "train/same_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>

#include "core/hash.h"
#include "data/sample_reader.h"
#include "graph/summary.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

std::uint64_t hash(const std::string& text) {
  Digest digest;
  digest.update(std::as_bytes(std::span(text)));
  return digest.words()[0];
}

/// Of the pixels of a few image files: libraries of other versions may decode other ones.
std::uint64_t hash_decoded(const Dataset& dataset) {
  constexpr std::uint64_t most_samples = 4;
  if (dataset.encoding() != Encoding::image_file) return 0;
  const Transform transform({}, dataset, {});
  SampleReader reader(dataset, transform);
  std::vector<std::uint8_t> pixels(reader.sample_bytes());
  Digest digest;
  for (std::uint64_t id = 0; id < dataset.size(); id += dataset.size() / most_samples + 1) {
    try {
      digest.update(std::as_bytes(std::span(reader.read(id, 0, pixels.data()), pixels.size())));
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
    }
  }
  return digest.words()[0];
}

// Every field is named, so that a new one does not compile until it is compared, too.

std::uint64_t hash(const InputOptions& input) {
  const auto& [mean, deviation, crop_share, strict, augment] = input;
  const auto& [random_resized_crop, scale_min, scale_max, ratio_min, ratio_max, crop_padding, hflip,
               randaugment, cutout, mixup] = augment;
  return hash(fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", mean, deviation, crop_share, strict,
                          random_resized_crop, scale_min, scale_max, ratio_min, ratio_max, crop_padding,
                          hflip, randaugment, cutout, mixup));
}

std::uint64_t hash(const ScheduleOptions& schedule) {
  const auto& [name, warmup_epochs, min_lr, decay_epochs, decay_rate, decay_milestones, power] = schedule;
  return hash(fmt::format("{} {} {} {} {} {} {}", name, warmup_epochs, min_lr, decay_epochs, decay_rate,
                          decay_milestones, power));
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

std::vector<Given> given_optimizer(const OptimizerOptions& options) {
  const auto& [name, momentum, nesterov, beta1, beta2, eps, trust_coefficient, always_adapt, weight_decay,
               filter_bias_and_bn, clip_grad, freeze] = options;
  return {{"optimizer", hash(name)},
          {"momentum", bits(momentum)},
          {"choice of Nesterov's rule", nesterov ? 1U : 0U},
          {"beta1", bits(beta1)},
          {"beta2", bits(beta2)},
          {"eps", bits(eps)},
          {"trust coefficient", bits(trust_coefficient)},
          {"choice of trust ratios for all parameters", always_adapt ? 1U : 0U},
          {"weight decay", bits(weight_decay)},
          {"choice of weight decay on biases and norms", filter_bias_and_bn ? 1U : 0U},
          {"largest norm of the gradient", bits(clip_grad)},
          {"list of frozen parameters", hash(fmt::format("{}", freeze))}};
}

std::vector<Given> given_options(const TrainerOptions& options) {
  // Of the execution, all but the data type may differ: it changes the time only.
  [[maybe_unused]] const auto& [epochs, batch_size, micro_batches, learning_rate, schedule, optimizer,
                                model_ema_decay, early_stopping, input, label_smoothing, seed, drop_last,
                                max_steps, reduce, execution] = options;
  return {{"epochs", static_cast<std::uint64_t>(epochs)},
          {"batch size", static_cast<std::uint64_t>(batch_size)},
          {"number of micro-batches", static_cast<std::uint64_t>(micro_batches)},
          {"learning rate", bits(learning_rate)},
          {"schedule of the learning rate", hash(schedule)},
          {"decay of the averaged weights", bits(model_ema_decay)},
          {"number of epochs for early stopping", static_cast<std::uint64_t>(early_stopping)},
          {"treatment of the images", hash(input)},
          {"label smoothing", bits(label_smoothing)},
          {"seed", seed},
          {"choice of dropping the last batch", drop_last ? 1U : 0U},
          {"largest number of steps", max_steps},
          {"way of reducing", static_cast<std::uint64_t>(reduce)},
          {"data type", static_cast<std::uint64_t>(execution.dtype)}};
}

}  // namespace

std::vector<Given> given_to(const TrainerOptions& options, const Network& network, const Dataset& train,
                            const Dataset& test) {
  constexpr const char* libraries = "versions of libjpeg and libpng";
  std::vector<Given> given = given_options(options);
  const std::vector<Given> optimizer = given_optimizer(options.optimizer);
  given.insert(given.end(), optimizer.begin(), optimizer.end());
  given.insert(given.end(), {{"network", hash(fingerprint(network))},
                             {"training set", hash(train.fingerprint())},
                             {"test set", hash(test.fingerprint())},
                             {"decoding of the training images", hash_decoded(train), libraries},
                             {"decoding of the test images", hash_decoded(test), libraries}});
  return given;
}

std::vector<Given> given_to_load(const ModelFile& file, const LoadOptions& options) {
  const auto& [reset_head] = options;
  Digest digest;
  for (const TensorInfo& tensor : file.tensors()) {
    digest.update(std::as_bytes(std::span(tensor.name)));
    digest.update(file.bytes(tensor));
  }
  return {{"model file", digest.words()[0], "names and copies of it"},
          {"choice of starting the last layer anew", reset_head ? 1U : 0U}};
}

void check_same_run(const World& world, const std::vector<Given>& given) {
  std::vector<std::uint64_t> own;
  for (const Given& entry : given) {
    own.push_back(entry.value);
  }
  const std::vector<std::byte> bytes = world.all_gather(std::as_bytes(std::span(own)));
  std::vector<std::uint64_t> all(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  world.agree([&] {
    for (std::size_t i = own.size(); i < all.size(); ++i) {
      if (all[i] != all[i % own.size()]) {
        throw Error(Category::usage,
                    fmt::format("rank {} was given another {} than rank 0: look for {} that differ between "
                                "hosts",
                                i / own.size(), given[i % own.size()].name, given[i % own.size()].origin));
      }
    }
  });
}

}  // namespace lockstep
