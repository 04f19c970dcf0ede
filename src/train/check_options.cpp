#include "train/check_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/options/check.h"
#include "core/text/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int lanes = 16;  ///< samples that a CPU computes at once

[[noreturn]] void refuse(const std::string& field, const std::string& message) {
  throw Error(Category::usage, message, field);
}

/// Divisor of `number` that is nearest to `wanted` >= 1.
int nearest_divisor(int number, int wanted) {
  for (int distance = 0;; ++distance) {
    if (wanted > distance && number % (wanted - distance) == 0) return wanted - distance;
    if (wanted + distance <= number && number % (wanted + distance) == 0) return wanted + distance;
  }
}

/// Up to four divisors of `number`: the smallest that are at least `min`.
std::vector<int> divisors(int number, int min) {
  std::vector<int> found;
  for (int divisor = min; divisor <= number && found.size() < 4; ++divisor) {
    if (number % divisor == 0) found.push_back(divisor);
  }
  return found;
}

void check_ranks(const BatchOptions& batch, int ranks) {
  if (ranks <= batch.micro_batches) return;
  const std::vector<int> enough = divisors(batch.size, ranks);
  const std::string more = enough.empty() ? "a larger batch"
                                          : fmt::format("{} micro-batches (which divide the batch of {})",
                                                        fmt::join(enough, ", "), batch.size);
  refuse("micro-batches", fmt::format("{} ranks are more than {}: start at most {}, or use {}", ranks,
                                      counted(batch.micro_batches, "micro-batch"),
                                      counted(batch.micro_batches, "rank"), more));
}

std::string describe(Shape shape, int outputs, Task task) {
  const char* const what = task == Task::classification ? "class"
                           : task == Task::multilabel   ? "label"
                                                        : "number";
  return fmt::format("samples of {}x{}x{} and {}{}", shape.channels, shape.height, shape.width,
                     counted(outputs, what), task == Task::regression ? " to predict" : "");
}

/// Describes what is wrong with the label or targets of sample `id` for the task of the data set; empty if
/// they are valid.
std::string fault_of_target(const Dataset& dataset, std::uint64_t id) {
  const int classes = dataset.classes();
  if (dataset.task() == Task::classification) {
    const int label = dataset.label(id);
    if (label >= 0 && label < classes) return {};
    return fmt::format("has label {}, but there {} {}: labels are 0 to {}", label,
                       classes == 1 ? "is" : "are", counted(classes, "class"), classes - 1);
  }
  const std::span<const float> targets = dataset.targets(id);
  if (targets.size() != static_cast<std::size_t>(classes)) {
    return fmt::format("has {}, but needs {}, as classes() says", counted(targets.size(), "target"), classes);
  }
  const bool labels = dataset.task() == Task::multilabel;
  for (const float target : targets) {
    if (labels && target != 0.0F && target != 1.0F) {
      return fmt::format("has target {} for a label: give 1 if the label applies, else 0", target);
    }
    if (!std::isfinite(target)) return fmt::format("has target {}: give a finite number", target);
  }
  return {};
}

}  // namespace

OptimizerOptions update_rule(const TrainerOptions& options) {
  OptimizerOptions rule = options.optimizer;
  if (options.on_nan != OnNan::stop && rule.clip_grad == 0.0) {
    rule.clip_grad = std::numeric_limits<float>::max();  // computes the norm, but is too large to clip
  }
  return rule;
}

float largest_learning_rate(const TrainerOptions& options) {
  if (options.lr_base_batch_size == 0) return static_cast<float>(options.learning_rate);
  const double ratio = static_cast<double>(options.batch.size) / options.lr_base_batch_size;
  const bool linear = options.lr_base_scale == BatchScaling::linear;
  return static_cast<float>(options.learning_rate * (linear ? ratio : std::sqrt(ratio)));
}

int default_micro_batches(int batch_size, DeviceKind device) {
  if (device == DeviceKind::cpu && batch_size < 256 && batch_size % lanes == 0) return batch_size / lanes;
  const auto doubles = [&](int count) {
    const int samples = batch_size / (2 * count);
    if (device == DeviceKind::cpu) return samples >= 32;
    return (count < 16 && samples >= 8) || samples >= 256;
  };
  int count = 1;
  while (batch_size % (2 * count) == 0 && doubles(count)) count *= 2;
  return count;
}

double used_lanes(int samples) {
  const int computed = (samples + lanes - 1) / lanes * lanes;
  return static_cast<double>(samples) / static_cast<double>(computed);
}

int micro_batches_of(const BatchOptions& batch, DeviceKind device) {
  check_fields(batch);
  check_size(batch);
  if (batch.micro_batches == 0) return default_micro_batches(batch.size, device);
  if (batch.size % batch.micro_batches != 0) {
    refuse("micro-batches",
           fmt::format("{} micro-batches do not divide a batch of {}; {} do", batch.micro_batches, batch.size,
                       nearest_divisor(batch.size, std::min(batch.micro_batches, batch.size))));
  }
  return batch.micro_batches;
}

void check_size(const BatchOptions& batch) {
  if (batch.size == by_data<int>) refuse("batch-size", "auto is for training: give a number");
}

void check_rank_weights(const std::vector<double>& weights, int ranks) {
  if (weights.empty()) return;
  if (weights.size() != static_cast<std::size_t>(ranks)) {
    refuse("rank-weights", fmt::format("{} for {}: give one for each", counted(weights.size(), "weight"),
                                       counted(ranks, "rank")));
  }
  if (std::ranges::none_of(weights, [](double weight) { return weight > 0.0; })) {
    refuse("rank-weights", "one of the ranks' weights must be above 0");
  }
}

void check_options(const TrainerOptions& options, int ranks, std::uint64_t train_size) {
  check_ranks(options.batch, ranks);
  check_rank_weights(options.execution.rank_weights, ranks);
  if (!std::isfinite(largest_learning_rate(options))) {
    refuse("lr", fmt::format("{}, scaled to the batch size, is not finite", options.learning_rate));
  }
  if (options.drop_last && train_size < static_cast<std::uint64_t>(options.batch.size)) {
    refuse("drop-last", fmt::format("dropping the last short batch of {} leaves none of {}",
                                    options.batch.size, counted(train_size, "sample")));
  }
}

void check_input(const InputOptions& input, Encoding encoding) {
  if (encoding == Encoding::floats) return;
  const auto check = [](const std::vector<double>& values, const char* field) {
    const auto outside = [](double value) { return value < 0.0 || value > 1.0; };
    const auto found = std::ranges::find_if(values, outside);
    if (found == values.end()) return;
    refuse(field, fmt::format("{} is not from 0 to 1, as pixels are for the network: divide values for "
                              "pixels from 0 to 255 by 255",
                              *found));
  };
  check(input.mean, "mean");
  check(input.deviation, "std");
}

void check_fit(const Network& network, const Dataset& dataset, const std::string& part) {
  if (dataset.size() == 0) {
    throw Error(Category::usage, fmt::format("the {} has no samples", part));
  }
  if (dataset.task() == Task::regression && dataset.classes() != 1) {
    throw Error(Category::usage, fmt::format("classes() of the {} is {}: regression predicts 1 number", part,
                                             dataset.classes()));
  }
  const bool exact = dataset.task() != Task::classification;  // each output has a target
  if (dataset.shape() != network.input_shape() || dataset.classes() > network.classes() ||
      (exact && dataset.classes() != network.classes())) {
    throw Error(Category::usage,
                fmt::format("the network takes {}, the {} has {}",
                            describe(network.input_shape(), network.classes(), dataset.task()), part,
                            describe(dataset.shape(), dataset.classes(), dataset.task())));
  }
  const std::size_t names = dataset.class_names().size();
  if (names > 0 && names != static_cast<std::size_t>(dataset.classes())) {
    throw Error(Category::usage,
                fmt::format("class_names() of the {} returns {}, but classes() is {}: return one for each, "
                            "or none",
                            part, counted(names, "name"), dataset.classes()));
  }
}

void check_targets(const Dataset& dataset, const std::string& part) {
  constexpr std::uint64_t most = std::uint64_t{1} << 24;  // computed data sets may be almost endless
  const auto [mean, deviation] = dataset.target_scale();
  const bool has_scale = std::isfinite(mean) && std::isfinite(deviation) && deviation > 0.0;
  if (dataset.task() == Task::regression && !has_scale) {
    throw Error(Category::data,
                fmt::format("{}: target_scale() has mean {} and deviation {}: both must be finite, and the "
                            "deviation above 0",
                            part, mean, deviation));
  }
  for (std::uint64_t id = 0; id < dataset.size(); id += dataset.size() / most + 1) {
    const std::string fault = fault_of_target(dataset, id);
    if (fault.empty()) continue;
    throw Error(Category::data, fmt::format("{}: {} {}", part, dataset.sample_name(id), fault));
  }
}

void check_part(const Network& network, const Dataset& train, const Dataset& dataset,
                const std::string& part) {
  if (dataset.task() != train.task()) {
    throw Error(Category::usage,
                fmt::format("the task of the {} is {}, that of the training data is {}: both must be equal",
                            part, name_of(dataset.task()), name_of(train.task())));
  }
  check_fit(network, dataset, part);
  check_targets(dataset, part);
}

}  // namespace lockstep
