#include "cli/train/data_warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/model/labels.h"
#include "cli/options/flag.h"
#include "core/text/message.h"
#include "core/text/printable.h"
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
  if (options.data.name == "images" && options.data.task == Task::classification &&
      !has_packed_images(options.data.directory)) {
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
  return fmt::format("{} of {} {}{}samples could not be read and were skipped", evaluation.skipped,
                     evaluation.samples + evaluation.skipped, kind, kind.empty() ? "" : " ");
}

MajorityClass majority_class(const Dataset& dataset) {
  if (dataset.task() != Task::classification) return {};
  const std::vector<std::uint64_t> counts = count_classes(dataset);
  const auto largest = std::ranges::max_element(counts);
  const auto number = static_cast<std::size_t>(largest - counts.begin());
  return {.name = names_of_classes(dataset, dataset.classes())[number],
          .share = static_cast<double>(*largest) / static_cast<double>(dataset.size())};
}

std::string majority_warning(const EpochReport& epoch, const TrainOptions& options,
                             const MajorityClass& majority) {
  const double rising = std::max(1.0, options.training.schedule.warmup_epochs);
  const bool can_be_better = majority.share > 0.0 && majority.share < 1.0;
  if (!can_be_better || epoch.epoch <= rising || epoch.test.accuracy > majority.share) return {};
  return fmt::format(
      "epoch {}: test accuracy {:.4f} is no better than always answering {} ({:.4f}): try another {}, a "
      "smaller {} or more {}",
      epoch.epoch, epoch.test.accuracy, in_quotes(majority.name), majority.share,
      flag_of(&TrainerOptions::learning_rate), flag_of(&BatchOptions::size),
      flag_of(&TrainerOptions::epochs));
}

void DataWarnings::look_at(const EpochReport& epoch) {
  warn_of_skipped(epoch.train, "training");
  warn_of_skipped(epoch.test, "test");
  if (epoch.validation) warn_of_skipped(*epoch.validation, "validation");
  warn_once(warned_majority_, majority_warning(epoch, options_, majority_));
  warn_once(warned_slow_, slow_reading_warning(epoch, options_));
}

void DataWarnings::warn_once(bool& warned, const std::string& text) {
  if (!warned) print_warning(text);
  warned = warned || !text.empty();
}

void DataWarnings::warn_of_skipped(const Evaluation& evaluation, const std::string& kind) {
  std::uint64_t& warned = warned_skipped_[kind];
  if (evaluation.skipped <= warned) return;
  warned = evaluation.skipped;
  print_warning(skipped_warning(evaluation, kind));
}

}  // namespace lockstep
