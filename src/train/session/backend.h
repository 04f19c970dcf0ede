#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/step_state.h"
#include "device/device.h"
#include "lockstep/execution.h"
#include "ops/plan_layout.h"
#include "optim/arena_update.h"
#include "reduce/summation.h"
#include "train/step/leaf_runner.h"
#include "train/step/step_table.h"

namespace lockstep {

/// A graph compiled for a device. Makes runners, which it outlives.
class CompiledGraph {
 public:
  virtual ~CompiledGraph() = default;
  /// For the micro-batches of `loader`, whose steps are those of `log`. Throws Error(resource).
  virtual std::unique_ptr<LeafRunner> make_runner(const Loader& loader, StepLog log) = 0;
  /// What backward computes; by node of the graph that was compiled, of which a device may leave some out.
  virtual GradientFlow gradients() const = 0;
};

/// Device-specific part of a step. Each kind of device has a file of its own; shared code never asks which it
/// is.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Device& device() = 0;
  /// Additions of arenas.
  virtual Summation& summation() = 0;
  virtual std::unique_ptr<CompiledGraph> compile(const Graph& graph, const ArenaLayout& layout,
                                                 const PlanOptions& options) = 0;
  virtual std::unique_ptr<ArenaUpdate> make_update(const ArenaUpdateOptions& options) = 0;
  /// Records the step's outcome, from the results of all its leaves, added in their order. What comes after
  /// in this step, the update, finds it in the table's concluded(); its log() goes on to the next.
  virtual void conclude(Stream& stream, std::span<const LeafResult> results, const StepTable& table) = 0;
  /// How many streams run leaves at once, and what they run on: an instruction set, or a GPU.
  virtual int threads() const = 0;
  virtual std::string name() const = 0;
  /// Which engines of a library compute what, as the text of a file of plans (JSON); empty where nothing is
  /// chosen.
  virtual std::string engines() const { return {}; }
};

struct BackendOptions {
  ExecutionOptions execution = {};  ///< but for the device, which is the backend's
  bool pin = true;                  ///< CPU: threads to cores
  const World* world = nullptr;     ///< null: a process that shares its host with none
};

/// Throw Error(usage) for unknown names and for what the device cannot compute in, Error(resource) where
/// there is no such device.
std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options);
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options);

}  // namespace lockstep
