#include <algorithm>
#include <bit>
#include <future>
#include <vector>

#include "comm/world/watch_of.h"
#include "core/background.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda_probe.h"
#include "gradient/cuda/summation.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "ops/cuda/cuda_plan.h"
#include "ops/cuda/dnn/cudnn.h"
#include "ops/cuda/step.h"
#include "optim/cuda/arena_update.h"
#include "train/cuda/cuda_leaf_runner.h"
#include "train/session/backend.h"

namespace lockstep {
namespace {

using namespace cuda;

/// Number of this rank on its host; the ranks of a host take its GPUs in turn.
int local_rank(const World* world) { return world != nullptr ? world->local_rank() : 0; }

/// Number of host threads in addition to the one that submits to the GPU: the number that the user requested,
/// else the rank's share of the host's cores minus one.
int other_threads(const BackendOptions& options) {
  if (options.execution.threads > 0) return options.execution.threads;
  const int local_size = options.world != nullptr ? options.world->local_size() : 1;
  return std::max(1, available_cores(local_rank(options.world), local_size) - 1);
}

/// Number of streams of a device; more than 8 do not make steps of LeNet and ResNet-18 faster (H200).
int streams_of(const ExecutionOptions& execution) {
  constexpr int usual = 8;
  return execution.streams > 0 ? execution.streams : usual;
}

class CudaCompiledGraph final : public CompiledGraph {
 public:
  CudaCompiledGraph(Device& device, DeviceDatasets& datasets, int reader_threads, Watch* watch, bool training,
                    std::size_t elements, std::unique_ptr<CudaPlan> plan)
      : device_(device),
        datasets_(datasets),
        reader_threads_(reader_threads),
        watch_(watch),
        training_(training),
        elements_(elements),
        plan_(std::move(plan)) {}

  /// If the host feeds the samples, only the first stream has a runner.
  LeafRunners make_runners(const Loader& loader, std::uint32_t leaves, StepLog log) override {
    const std::shared_ptr<const DeviceDataset> dataset = datasets_.find(loader);
    compile_for_rest(loader);
    const FeedOptions options{device_, *plan_, loader, reader_threads_, watch_};
    LeafRunners runners;
    for (std::size_t left = dataset != nullptr ? leaves_at_once(leaves) : 1; left > 0; --left) {
      runners.push_back(make_cuda_leaf_runner(
          device_, *plan_, loader,
          dataset != nullptr ? make_device_feed(options, dataset, log) : make_host_feed(options)));
    }
    return runners;
  }
  GradientFlow gradients() const override { return plan_->gradients(); }
  std::vector<NodeTraffic> traffic() const override { return plan_->traffic(); }

 private:
  /// Also compiles for the smaller last micro-batch of the data set, before any micro-batch runs.
  void compile_for_rest(const Loader& loader) {
    const auto rest = static_cast<int>(loader.dataset().size() % loader.micro_batch());
    if (rest > 0) plan_->compile_for(rest);
  }

  /// Number of leaves to compute concurrently: as many as fit into a quarter of the free memory. Small
  /// kernels leave most of a GPU idle, so several leaves take little longer than one. Large leaves gain
  /// little, and evaluations and other ranks need memory later.
  std::size_t leaves_at_once(std::uint32_t leaves) const {
    const std::size_t fit = device_.available_bytes() / 4 / (plan_->workspace_bytes() + arenas_bytes(leaves));
    return std::max<std::size_t>(1, std::min({device_.streams().size(), std::size_t{leaves}, fit}));
  }

  /// Upper bound for the bytes of a stream's gradient arenas (PartialSumPlan).
  std::size_t arenas_bytes(std::uint32_t leaves) const {
    return training_ ? (1 + std::bit_width(leaves)) * elements_ * sizeof(float) : 0;
  }

  Device& device_;
  DeviceDatasets& datasets_;
  int reader_threads_;
  Watch* watch_;  ///< null: no watchdog
  bool training_;
  std::size_t elements_;  ///< elements of an arena
  std::unique_ptr<CudaPlan> plan_;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(const BackendOptions& options, GpuProbe gpu)
      : options_(options),
        gpu_(std::move(gpu)),
        device_(make_cuda_device(local_rank(options.world), options.execution.cuda_graph,
                                 static_cast<std::size_t>(streams_of(options.execution)))),
        dnn_(make_cudnn({.time_plans = !options.execution.plan_cache.empty(),
                         .plan_cache = options.execution.plan_cache,
                         .write_plan_cache = options.chooses_engines})),
        summation_(make_summation(*device_)),
        datasets_(*device_, gpu_.memory_bytes / 2),
        stopped_(device_->allocate(sizeof(std::uint32_t))) {}

  Device& device() override { return *device_; }
  Summation& summation() override { return *summation_; }

  std::unique_ptr<CompiledGraph> compile(const Graph& graph, const ArenaLayout& layout,
                                         const PlanOptions& options) override {
    return std::make_unique<CudaCompiledGraph>(
        *device_, datasets_, other_threads(options_),
        options_.world != nullptr ? &watch_of(*options_.world) : nullptr, options.training, layout.elements,
        std::make_unique<CudaPlan>(graph, layout, options, options_.execution.dtype, *dnn_));
  }

  std::unique_ptr<ArenaUpdate> make_update(const ArenaUpdateOptions& options) override {
    return make_arena_update(options, stopped_.as<std::uint32_t>());
  }

  void conclude(Stream& stream, std::span<const LeafResult> results, const StepTable& table) override {
    conclude_leaves(handle_of(stream), results.data(), static_cast<std::uint32_t>(results.size()),
                    table.log(), table.positions(), stopped_.as<std::uint32_t>(), table.stops());
  }

  int threads() const override { return 1; }
  void on_host_threads(const std::function<void()>& work) override {
    std::vector<std::future<void>> others;
    for (int thread = 0; thread < other_threads(options_); ++thread) others.push_back(in_background(work));
    work();
    for (std::future<void>& other : others) other.get();
  }
  std::string name() const override { return gpu_.name; }
  std::string engines() const override { return dnn_->engines(); }
  void use_engines(const std::string& engines) override { dnn_->use_engines(engines); }

 private:
  BackendOptions options_;
  GpuProbe gpu_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Dnn> dnn_;
  std::unique_ptr<Summation> summation_;
  DeviceDatasets datasets_;
  Buffer stopped_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options) {
  const Probe found = probe(Detail::needed);
  if (const Obstacle why = obstacle(found)) {
    throw Error(Category::resource, "CUDA is off: " + why.reason + "; " + why.hint);
  }
  const auto rank = static_cast<std::size_t>(local_rank(options.world));
  return std::make_unique<CudaBackend>(options, found.gpus[rank % found.gpus.size()]);
}

}  // namespace lockstep
