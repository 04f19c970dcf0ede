#include "train/check_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/error.h"

namespace lockstep {

int default_micro_batches(int batch_size, const std::string& device) {
  const int smallest_micro_batch = device == "cuda" ? 128 : 32;
  int count = 1;
  while (batch_size % (2 * count) == 0 && batch_size / (2 * count) >= smallest_micro_batch) {
    count *= 2;
  }
  return count;
}

void check_options(const TrainerOptions& options, int ranks, std::uint64_t train_size) {
  const auto refuse = [](const std::string& message) { throw Error(Category::usage, message); };
  if (options.batch_size < 1) {
    refuse(fmt::format("batch size must be at least 1, not {}", options.batch_size));
  }
  if (options.epochs < 0) {
    refuse(fmt::format("epochs must be at least 0, not {}", options.epochs));
  }
  if (options.execution.threads < 0) {
    refuse(fmt::format("threads must be at least 1 (or 0: automatic), not {}", options.execution.threads));
  }
  if (!std::isfinite(options.learning_rate) || options.learning_rate < 0.0F) {
    refuse(fmt::format("learning rate must be a number of at least 0, not {}", options.learning_rate));
  }
  if (options.micro_batches < 0 || options.batch_size % options.micro_batches != 0) {
    refuse(fmt::format("batch size {} is not divisible by {} micro-batches", options.batch_size,
                       options.micro_batches));
  }
  const std::vector<double>& weights = options.execution.rank_weights;
  if (!weights.empty() && weights.size() != static_cast<std::size_t>(ranks)) {
    refuse(fmt::format("{} weights were given for {} ranks", weights.size(), ranks));
  }
  if (!weights.empty() && std::ranges::none_of(weights, [](double weight) { return weight > 0.0; })) {
    refuse("one of the ranks' weights must be positive");
  }
  if (ranks > options.micro_batches) {
    refuse(
        fmt::format("{} ranks are more than {} micro-batches: start at most {} ranks, or use more "
                    "micro-batches (a divisor of the batch size {})",
                    ranks, options.micro_batches, options.micro_batches, options.batch_size));
  }
  if (!(options.label_smoothing >= 0.0F && options.label_smoothing < 1.0F)) {
    refuse(fmt::format("label smoothing must be in [0, 1), not {}", options.label_smoothing));
  }
  if (options.drop_last && train_size < static_cast<std::uint64_t>(options.batch_size)) {
    refuse(fmt::format("dropping the last short batch of {} leaves none of the {} samples",
                       options.batch_size, train_size));
  }
  if (!(options.model_ema_decay >= 0.0 && options.model_ema_decay < 1.0)) {
    refuse(fmt::format("the decay of averaged weights must be in [0, 1), not {}", options.model_ema_decay));
  }
  if (options.early_stopping < 0) {
    refuse(fmt::format("early stopping after {} epochs is impossible", options.early_stopping));
  }
}

}  // namespace lockstep
