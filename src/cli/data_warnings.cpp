#include "cli/data_warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "core/message.h"
#include "data/sets/images/packed_images.h"

namespace lockstep {

std::string slow_reading_warning(const EpochReport& epoch, const TrainOptions& options) {
  constexpr double much = 0.3;
  constexpr std::uint64_t enough_steps = 50;
  constexpr double enough_seconds = 1.0;
  if (epoch.load_share <= much || epoch.steps < enough_steps || epoch.load_seconds <= enough_seconds) {
    return {};
  }
  std::vector<std::string> advice;
  if (epoch.load_is_waiting) advice.emplace_back("give each rank more cores");
  if (options.data.name == "images" && !has_packed_images(options.data.directory, "train")) {
    advice.emplace_back("pack the images (lockstep data pack)");
  }
  if (options.training.augment != AugmentOptions{}) advice.emplace_back("use fewer augmentations");
  if (advice.empty()) advice.emplace_back("use more threads or ranks");
  const double percent = 100.0 * epoch.load_share;
  const std::string what =
      epoch.load_is_waiting
          ? fmt::format("the GPU waited for samples during {:.0f} % of epoch {}", percent, epoch.epoch)
          : fmt::format("reading the samples took {:.0f} % of the working time of epoch {}", percent,
                        epoch.epoch);
  return fmt::format("{}: {}", what, fmt::join(advice, ", or "));
}

std::string skipped_warning(const Evaluation& evaluation, const std::string& kind) {
  if (evaluation.skipped == 0) return {};
  return fmt::format("{} of {} {} samples could not be read and were skipped", evaluation.skipped,
                     evaluation.samples + evaluation.skipped, kind);
}

void DataWarnings::look_at(const EpochReport& epoch) {
  warn_of_skipped(epoch.train, "training", warned_train_);
  warn_of_skipped(epoch.test, "test", warned_test_);
  if (epoch.validation) warn_of_skipped(*epoch.validation, "validation", warned_validation_);
  if (options_.output.quiet || warned_slow_) return;
  const std::string slow = slow_reading_warning(epoch, options_);
  warned_slow_ = !slow.empty();
  print_warning(slow);
}

void DataWarnings::warn_of_skipped(const Evaluation& evaluation, const std::string& kind,
                                   std::uint64_t& warned) {
  if (evaluation.skipped <= warned) return;
  warned = evaluation.skipped;
  print_warning(skipped_warning(evaluation, kind));
}

}  // namespace lockstep
