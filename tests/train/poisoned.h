#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lockstep/sampler.h"
#include "train/small_run.h"

/// Runs in which some samples lead to losses that are not finite.
namespace lockstep::test {

/// Samples like those of train_set() with a second channel, which is white in poisoned samples and black in
/// others. poisoned_options() divide it by almost zero.
class Poisoned : public Synthetic {
 public:
  explicit Poisoned(const std::set<std::uint64_t>& poisoned, std::uint64_t size = 300)
      : Synthetic(size, {2, 12, 12}, 4) {
    change = [poisoned](std::uint64_t id, std::vector<std::uint8_t>& pixels) {
      std::ranges::fill(std::span(pixels).subspan(pixels.size() / 2), poisoned.contains(id) ? 255 : 0);
    };
  }
};

/// Options for epochs of five steps.
inline TrainerOptions poisoned_options(OnNan on_nan, int epochs = 2) {
  TrainerOptions chosen = options();
  chosen.epochs = epochs;
  chosen.on_nan = on_nan;
  chosen.input = {.mean = {0.3, 0.0}, .deviation = {0.4, 2e-38}};
  chosen.augment = {.crop_padding = 1, .hflip = 0.5};
  chosen.model_ema = true;
  chosen.model_ema_decay = 0.9;
  return chosen;
}

/// Id of a sample that step `step` of the first epoch uses; steps count from 1.
inline std::uint64_t sample_of_step(std::uint64_t step) {
  return Permutation(300, options().seed, 0)(64 * (step - 1) + 5);
}

/// Without `batch_norm`, the sums of poisoned samples overflow in pooling on every device. With it, a GPU may
/// divide them by infinity.
inline std::unique_ptr<Network> two_channel_network(bool batch_norm = true) {
  auto network = std::make_unique<Network>(Shape{2, 12, 12});
  Value x = conv2d(network->input(), {.channels = 6, .kernel = 3, .padding = 1});
  x = relu(batch_norm ? batch_norm2d(x) : x);
  if (batch_norm) x = max_pool2d(x, {.kernel = 2});
  network->output(linear(flatten(adaptive_avg_pool2d(x)), 4));
  return network;
}

/// Trainer of a two_channel_network() that starts with a NaN in each parameter whose name ends with
/// `name_end`. With the default, running_mean, no training loss depends on the NaN.
struct TrainerWithNan {
  std::unique_ptr<Network> network = two_channel_network();
  Poisoned train{{}}, test{{}, 77};
  Trainer trainer;
  std::string name;  ///< name of the last of these parameters

  explicit TrainerWithNan(const TrainerOptions& chosen, const std::string& name_end = "running_mean")
      : trainer(world(), *network, train, test, chosen) {
    trainer.load(first_values(*network, [&](const Parameter& parameter, std::span<float> values) {
      if (!parameter.name.ends_with(name_end)) return;
      name = parameter.name;
      values.back() = std::numeric_limits<float>::quiet_NaN();
    }));
  }
};

/// Reports and results of a run.
struct PoisonedRun {
  std::vector<NotFiniteReport> reports;
  std::vector<std::uint64_t> skipped_steps;  ///< per epoch
  std::vector<double> losses;                ///< per epoch: training loss if any step counts, then test loss
  std::vector<bool> best;                    ///< per epoch
  std::function<void(const CheckpointReport&)> on_checkpoint;
  std::string digest;
  bool batch_norm = true;  ///< whether the network has batch norm

  /// Reported steps with the steps that the run rolled back to: "3>2 7>6".
  std::string returns() const {
    std::string text;
    for (const NotFiniteReport& report : reports) {
      text +=
          (text.empty() ? "" : " ") + std::to_string(report.step) + ">" + std::to_string(report.back_to_step);
    }
    return text;
  }

  /// `folder`: folder for checkpoints; empty: none are written. `from`: checkpoint to resume; empty: a new
  /// run. `stop`: step after which to stop; 0: never. Appends to the results of earlier parts of the run.
  void train(const World& world, const Dataset& train, const TrainerOptions& chosen,
             const std::filesystem::path& folder = {}, const CheckpointOptions& checkpoint_options = {},
             const std::filesystem::path& from = {}, std::uint64_t stop = 0) {
    const auto network = two_channel_network(batch_norm);
    const Poisoned clean({}, 77);
    Trainer trainer(world, *network, train, clean, chosen);
    trainer.on_event = observer([this](const NotFiniteReport& report) { reports.push_back(report); },
                                [this](const EpochReport& report) {
                                  skipped_steps.push_back(report.skipped_steps);
                                  if (report.train.samples > 0) losses.push_back(report.train.loss);
                                  best.push_back(report.best);
                                  losses.push_back(report.test.loss);
                                },
                                [this](const CheckpointReport& report) {
                                  if (on_checkpoint) on_checkpoint(report);
                                });
    trainer.ask = [&] { return stop > 0 && trainer.step() == stop ? Request::stop : Request::none; };
    if (!from.empty()) trainer.resume(from);
    if (!folder.empty()) trainer.write_checkpoints(folder, checkpoint_options);
    trainer.fit();
    digest = trainer.digest();
  }
};

}  // namespace lockstep::test
