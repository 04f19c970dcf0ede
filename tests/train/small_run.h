#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "lockstep/trainer.h"
#include "support/synthetic.h"
#include "support/temporary_folder.h"
#include "train/session/parameter_set.h"

/// Data sets, networks and options for a run of a few seconds.
namespace lockstep::test {

inline const Synthetic& train_set() {
  static const Synthetic set(300, {1, 12, 12}, 4);
  return set;
}
inline const Synthetic& test_set() {
  static const Synthetic set(77, {1, 12, 12}, 4);
  return set;
}

/// Network with branches, an addition, and all fused and unfused operations that small images allow.
inline std::unique_ptr<Network> make_small_network(int outputs = 4) {
  auto network = std::make_unique<Network>(Shape{1, 12, 12});
  Value x = relu(conv2d(network->input(), {.channels = 6, .kernel = 3, .padding = 1}));
  x = x + conv2d(relu(conv2d(x, {.channels = 6, .kernel = 3, .padding = 1})),
                 {.channels = 6, .kernel = 3, .padding = 1});
  x = avg_pool2d(relu(x), {.kernel = 2});
  x = avg_pool2d(relu(conv2d(x, {.channels = 9, .kernel = 3, .stride = 1})), {.kernel = 2});
  x = relu(linear(flatten(x), 21));
  network->output(linear(x, outputs));
  return network;
}

inline const Network& small_network() {
  static const std::unique_ptr<Network> network = make_small_network();
  return *network;
}

/// Network with running statistics.
inline std::unique_ptr<Network> network_with_batch_norm() {
  auto network = std::make_unique<Network>(Shape{1, 12, 12});
  Value x = relu(batch_norm2d(conv2d(network->input(), {.channels = 6, .kernel = 3, .padding = 1})));
  x = relu(batch_norm2d(conv2d(max_pool2d(x, {.kernel = 2}), {.channels = 8, .kernel = 3})));
  network->output(linear(flatten(adaptive_avg_pool2d(x)), 4));
  return network;
}

/// Model file with the initial values of the network's parameters, after `change` was applied to each.
inline ModelFile first_values(
    const Network& network,
    const std::function<void(const Parameter&, std::span<float>)>& change = [](auto&&...) {}) {
  const TemporaryFolder folder;
  const std::string file = (folder / "first.safetensors").string();
  const ArenaLayout layout = layout_arena(network.parameters());
  std::vector<float> arena(layout.elements);
  initialize_parameters(network.parameters(), layout, 0, arena.data());
  const ParameterSet parameters(network, layout, arena);
  for (std::size_t i = 0; i < network.parameters().size(); ++i) {
    change(network.parameters()[i], parameters.values(i));
  }
  parameters.save(file);
  return ModelFile::read(file);
}

inline TrainerOptions options() {
  return {.epochs = 2,
          .batch = {.size = 64, .micro_batches = 4},
          .learning_rate = 0.1,
          .optimizer = {.momentum = 0.5},
          .execution = {.threads = 1}};
}

/// `chosen` with all kinds of preparation and augmentation of samples.
inline TrainerOptions augmented(TrainerOptions chosen) {
  chosen.input = {.mean = {0.3}, .deviation = {0.4}};
  chosen.augment = {.random_resized_crop = true,
                    .crop_padding = 1,
                    .hflip = 0.5,
                    .randaugment = "rand-m9-n3",
                    .cutout = 3,
                    .mixup = 0.2};
  return chosen;
}

inline Trainer small_trainer(const TrainerOptions& chosen, const Dataset& training = train_set(),
                             const Dataset& testing = test_set()) {
  return Trainer(world(), small_network(), training, testing, chosen);
}

/// Reports and digest of a run that has ended.
struct FinishedRun {
  std::vector<StepReport> steps;
  std::vector<EpochReport> epochs;
  std::string digest;
};

/// Trains to the end of the run.
inline FinishedRun finish(Trainer& trainer) {
  FinishedRun run;
  trainer.on_event = observer([&](const StepReport& report) { run.steps.push_back(report); },
                              [&](const EpochReport& report) { run.epochs.push_back(report); });
  trainer.fit();
  trainer.on_event = nullptr;
  run.digest = trainer.digest();
  return run;
}

inline FinishedRun train(const TrainerOptions& chosen, const Network& network = small_network(),
                         const Dataset& training = train_set(), const Dataset& testing = test_set()) {
  Trainer trainer(world(), network, training, testing, chosen);
  return finish(trainer);
}

}  // namespace lockstep::test
