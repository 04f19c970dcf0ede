#include "train/same_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "core/hash.h"
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

std::uint64_t hash(const Network& network) {
  std::string text;
  for (const Network::Layer& layer : network.layers()) {
    text += fmt::format("{} {} {} {}x{}x{}\n", describe(layer.operation), layer.name, layer.inputs,
                        layer.shape.channels, layer.shape.height, layer.shape.width);
  }
  for (const Parameter& parameter : network.parameters()) {
    text += fmt::format("{} {} {} {} {}\n", parameter.name, parameter.shape,
                        static_cast<int>(parameter.initializer.kind), parameter.initializer.scale,
                        parameter.statistic_momentum);
  }
  return hash(text);
}

/// Sample `id`, or nothing where it cannot be read, which is dealt with when a step meets it.
std::span<const std::uint8_t> readable_sample(const Dataset& dataset, std::uint64_t id,
                                              std::vector<std::uint8_t>& buffer) {
  try {
    return dataset.sample(id, buffer);
  } catch (const Error&) {
    return {};
  }
}

std::uint64_t hash(const Dataset& dataset) {
  const std::uint64_t most_samples = dataset.encoding() == Encoding::image_file ? 64 : 1024;
  Digest digest;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    const std::int32_t label = dataset.label(id);
    digest.update(std::as_bytes(std::span(&label, 1)));
  }
  const std::uint64_t stride = dataset.size() / most_samples + 1;
  std::vector<std::uint8_t> buffer;
  for (std::uint64_t id = 0; id < dataset.size(); id += stride) {
    digest.update(std::as_bytes(readable_sample(dataset, id, buffer)));
  }
  return digest.words()[0];
}

std::uint64_t hash(const InputOptions& input) {
  const AugmentOptions& augment = input.augment;
  return hash(fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", input.mean, input.deviation,
                          input.crop_share, input.strict, augment.random_resized_crop, augment.scale_min,
                          augment.scale_max, augment.ratio_min, augment.ratio_max, augment.crop_padding,
                          augment.hflip, augment.randaugment, augment.cutout, augment.mixup));
}

std::uint64_t hash(const ScheduleOptions& schedule) {
  return hash(fmt::format("{} {} {} {} {} {} {}", schedule.name, schedule.warmup_epochs, schedule.min_lr,
                          schedule.decay_epochs, schedule.decay_rate, schedule.decay_milestones,
                          schedule.power));
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

std::vector<Given> given_to(const TrainerOptions& options, const Network& network, const Dataset& train,
                            const Dataset& test) {
  const OptimizerOptions& rule = options.optimizer;
  return {{"epochs", static_cast<std::uint64_t>(options.epochs)},
          {"batch size", static_cast<std::uint64_t>(options.batch_size)},
          {"number of micro-batches", static_cast<std::uint64_t>(options.micro_batches)},
          {"learning rate", bits(options.learning_rate)},
          {"schedule of the learning rate", hash(options.schedule)},
          {"optimizer", hash(rule.name)},
          {"momentum", bits(rule.momentum)},
          {"weight decay", bits(rule.weight_decay)},
          {"choice of Nesterov's rule", rule.nesterov ? 1U : 0U},
          {"beta1", bits(rule.beta1)},
          {"beta2", bits(rule.beta2)},
          {"eps", bits(rule.eps)},
          {"trust coefficient", bits(rule.trust_coefficient)},
          {"choice of trust ratios for all parameters", rule.always_adapt ? 1U : 0U},
          {"choice of weight decay on biases and norms", rule.filter_bias_and_bn ? 1U : 0U},
          {"largest norm of the gradient", bits(rule.clip_grad)},
          {"list of frozen parameters", hash(fmt::format("{}", rule.freeze))},
          {"decay of the averaged weights", bits(options.model_ema_decay)},
          {"number of epochs for early stopping", static_cast<std::uint64_t>(options.early_stopping)},
          {"treatment of the images", hash(options.input)},
          {"label smoothing", bits(options.label_smoothing)},
          {"seed", options.seed},
          {"choice of dropping the last batch", options.drop_last ? 1U : 0U},
          {"largest number of steps", options.max_steps},
          {"way of reducing", static_cast<std::uint64_t>(options.reduce)},
          {"network", hash(network)},
          {"training set", hash(train)},
          {"test set", hash(test)}};
}

void check_same_run(const World& world, Communicator& communicator, const std::vector<Given>& given) {
  std::vector<std::uint64_t> own;
  for (const Given& entry : given) {
    own.push_back(entry.value);
  }
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::uint64_t> all(ranks * own.size());
  const std::vector<std::size_t> bytes(ranks, own.size() * sizeof(std::uint64_t));
  communicator.all_gather_bytes(std::as_bytes(std::span(own)), bytes, std::as_writable_bytes(std::span(all)));
  world.agree([&] {
    for (std::size_t i = own.size(); i < all.size(); ++i) {
      if (all[i] != all[i % own.size()]) {
        throw Error(Category::usage,
                    fmt::format("rank {} was given another {} than rank 0: look for LOCKSTEP_ variables, "
                                "configuration files and data that differ between hosts",
                                i / own.size(), given[i % own.size()].name));
      }
    }
  });
}

}  // namespace lockstep
