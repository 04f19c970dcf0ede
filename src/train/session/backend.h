#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/step_state.h"
#include "device/device.h"
#include "gradient/summation.h"
#include "lockstep/execution.h"
#include "ops/plan_layout.h"
#include "ops/thread_limits.h"
#include "optim/arena_update.h"
#include "train/step/leaf_runner.h"
#include "train/step/step_table.h"

namespace lockstep {

/// A graph compiled for a device. Makes runners, and must outlive them.
class CompiledGraph {
 public:
  virtual ~CompiledGraph() = default;
  /// Makes the runners, at least 1, with which this rank computes `leaves` leaves of `loader`; `log`: log of
  /// the loader's steps. The number of runners does not affect the result. Throws Error(resource).
  virtual LeafRunners make_runners(const Loader& loader, std::uint32_t leaves, StepLog log) = 0;
  /// Gradients that backward computes, by node of the compiled graph; a device may omit some nodes.
  virtual GradientFlow gradients() const = 0;
  /// Memory that each node of the compiled graph moves for the largest micro-batch. If several nodes are
  /// fused, the traffic of all counts for the last of them.
  virtual std::vector<NodeTraffic> traffic() const = 0;
  /// Whether a node of the compiled graph multiplies in bf16; false on GPUs, whose limits are not measured.
  virtual bool multiplies_bf16(std::size_t /*node*/) const { return false; }
};

/// Device-specific part of a step. Each kind of device has its own file; shared code never asks for the kind
/// of device.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Device& device() = 0;
  /// Additions of arenas on the device.
  virtual Summation& summation() = 0;
  virtual std::unique_ptr<CompiledGraph> compile(const Graph& graph, const ArenaLayout& layout,
                                                 const PlanOptions& options) = 0;
  virtual std::unique_ptr<ArenaUpdate> make_update(const ArenaUpdateOptions& options) = 0;
  /// Records computing the step's outcome from the results of all its leaves, added in the order of leaves.
  /// The step's update reads the outcome from table.concluded(); table.log() advances to the next step.
  virtual void conclude(Stream& stream, std::span<const LeafResult> results, const StepTable& table) = 0;
  /// Number of threads that compute; CUDA: 1.
  virtual int threads() const = 0;
  /// Calls `work` on several host threads concurrently and returns when all calls have returned; the calls
  /// divide the work among themselves. CPU: uses the threads that compute.
  virtual void on_host_threads(const std::function<void()>& work) = 0;
  /// Name of the processor: the instruction set of a CPU, or the name of a GPU.
  virtual std::string name() const = 0;
  /// Limits of one thread, measured by this call; none on a GPU.
  virtual std::optional<ThreadLimits> measure_limits() { return std::nullopt; }
  /// Engines of the GPU library by operation, as the text of a plan file (JSON); empty if there is no choice
  /// of engines.
  virtual std::string engines() const { return {}; }
  /// Uses another rank's engines. `engines`: text of that rank's engines(); operations that it lacks are not
  /// affected.
  virtual void use_engines(const std::string& /*engines*/) {}
};

struct BackendOptions {
  ExecutionOptions execution = {};  ///< `device` is ignored
  bool pin = true;                  ///< CPU: whether threads are bound to cores
  bool chooses_engines = true;      ///< CUDA: whether this rank adds engines to execution.plan_cache
  const World* world = nullptr;     ///< null: a process alone on its host
};

/// Throw Error(usage) for unknown names and for data types that the device does not support, Error(resource)
/// if there is no such device.
std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options);
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options);

}  // namespace lockstep
