#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/kernel_times.h"
#include "emulation/graph_device.h"
#include "lockstep/models.h"
#include "train/run.h"
#include "train/step/step_program.h"
#include "train/synthetic.h"
#include "train/training_state.h"

namespace lockstep::test {

/// Short name of a launch: "PadWeights", "conv_forward".
inline std::string short_name(const std::string& mangled) {
  const std::string name = kernel_name(mangled.c_str());
  constexpr std::string_view library = "reference ";
  return name.starts_with(library) ? name.substr(library.size()) : name;
}

struct StepOptions {
  const char* model;
  std::uint32_t batch;
  std::uint32_t micro_batches = 1;
  OptimizerOptions optimizer = {.momentum = 0.9};
  DataType dtype = DataType::fp32;
};

/// Observes the recordings of devices during its lifetime.
class Recordings {
 public:
  explicit Recordings(std::function<void(std::span<const GraphAction>)> look) {
    GraphDevice::on_record = std::move(look);
  }
  ~Recordings() { GraphDevice::on_record = nullptr; }
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;
};

/// Launches of a step on one rank, with samples in GPU memory, in order: our kernels by the names of their
/// types, calls of the convolution library by what they compute, copies. The step is recorded, but not run.
inline std::vector<std::string> launches_of(const StepOptions& options) {
  const Synthetic set(options.batch, {1, 28, 28}, 10);
  const auto network = make_model(options.model, set.shape(), set.classes());
  const TrainerOptions chosen{.batch = {.size = static_cast<int>(options.batch),
                                        .micro_batches = static_cast<int>(options.micro_batches)},
                              .optimizer = options.optimizer,
                              .reduce = Reduce::canonical,
                              .execution = {.device = DeviceKind::cuda, .dtype = options.dtype}};
  const Placement placement = find_placement(world(), chosen.execution, chosen.reduce);
  const Run run = check_run(world(), placement, *network, set, set, chosen);
  const Session session(world(), placement, run.options.execution);
  const auto graph = session.backend().compile(build_graph(*network), run.layout,
                                               {.samples = static_cast<int>(run.micro_batch())});
  const TrainingState state(session, run);
  StepTable table(session.device(), 1);
  Loader loader(set, run.micro_batch());
  loader.set_step(0, options.batch);
  const LeafRunners runners = make_runners(session, *graph, loader, table.log());
  Updater updater(session.backend(), session.owners(), network->parameters(), run.layout, options.optimizer,
                  state.updated(), table.concluded());
  GradientArenas arenas;
  LeafPass pass(session, runners, session.assign(options.micro_batches));
  StepGradients gradients(session, run.layout, pass.assignment(), updater.slices(), arenas);
  std::vector<std::string> launches;
  const Recordings recordings([&](std::span<const GraphAction> actions) {
    for (const GraphAction& action : actions) launches.push_back(short_name(action.name));
  });
  const StepProgram program(session, std::move(pass), std::move(gradients), updater, table);
  return launches;
}

}  // namespace lockstep::test
