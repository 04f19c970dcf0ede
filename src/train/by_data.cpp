// Option values that are computed from the training samples.
#include <algorithm>
#include <cmath>

#include "core/options/check.h"
#include "data/sets/dataset_statistics.h"
#include "lockstep/error.h"
#include "lockstep/training_options.h"
#include "lockstep/world.h"
#include "train/run.h"

namespace lockstep {
namespace {

/// Rounds to four decimals, to keep lines in records short.
void round(std::vector<double>& numbers) {
  for (double& number : numbers) number = std::round(number * 1e4) / 1e4;
}

void measure_input(const World& world, InputOptions& input, const Dataset& train) {
  const bool mean = input.mean == by_data<std::vector<double>>;
  const bool deviation = input.deviation == by_data<std::vector<double>>;
  if (!mean && !deviation) return;
  world.agree([&] {
    if (train.encoding() != Encoding::floats) return;
    throw Error(Category::usage, "auto measures images, and the samples are numbers: omit it",
                mean ? "mean" : "std");
  });
  ChannelStatistics found = measure_some_images(world, train, input.crop_share);
  round(found.mean);
  round(found.deviation);
  std::ranges::replace(found.deviation, 0.0, 1.0);  // 0: all pixels of the channel are equal
  if (mean) input.mean = found.mean;
  if (deviation) input.deviation = found.deviation;
}

}  // namespace

int batch_size_for(std::uint64_t samples) {
  constexpr std::uint64_t steps = 30;
  int size = 256;
  while (size > 32 && samples / static_cast<std::uint64_t>(size) < steps) size /= 2;
  return size;
}

int epochs_for(std::uint64_t steps_per_epoch) {
  constexpr std::uint64_t steps = 1000;
  const std::uint64_t epochs = (steps + steps_per_epoch - 1) / std::max<std::uint64_t>(steps_per_epoch, 1);
  return static_cast<int>(std::clamp<std::uint64_t>(epochs, 30, 60));
}

TrainerOptions resolved_by_data(const World& world, TrainerOptions options, const Dataset& train) {
  world.agree([&] { check_fields(options); });
  if (options.batch.size == by_data<int>) options.batch.size = batch_size_for(train.size());
  if (options.epochs == by_data<int>)
    options.epochs = epochs_for(steps_of_epoch(options, train.size()).steps);
  double& warmup_epochs = options.schedule.warmup_epochs;
  if (warmup_epochs == by_data<double>) warmup_epochs = options.epochs / 20.0;
  measure_input(world, options.input, train);
  return options;
}

}  // namespace lockstep
