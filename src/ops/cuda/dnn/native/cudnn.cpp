#include "ops/cuda/dnn/cudnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "device/cuda/native/check.h"
#include "device/kernel_times.h"
#include "lockstep/error.h"
#include "ops/cuda/dnn/native/cudnn_graph.h"
#include "ops/cuda/dnn/native/cudnn_target.h"
#include "ops/cuda/dnn/native/cudnn_timing.h"
#include "ops/cuda/dnn/plan_file.h"
#include "ops/cuda/dnn/problems.h"
#include "ops/cuda/kernels/epilogue.h"

namespace lockstep::cuda {
namespace {

/// A graph with its chosen engine. Keeps the target alive, because runs need the target's handle.
struct Chosen {
  std::string what;  ///< operation and problem
  std::shared_ptr<const CudnnTarget> target;
  std::unique_ptr<CudnnGraph> graph;
  std::size_t engine = 0;
};

DnnOperation operation_of(const std::shared_ptr<const Chosen>& chosen) {
  const CudnnGraph::Engine& engine = chosen->graph->engines()[chosen->engine];
  return {.description = engine.name,
          .notes = engine.notes,
          .workspace_bytes = chosen->graph->workspace_bytes(chosen->engine),
          .run = [chosen, name = chosen->what + ", " + engine.name](
                     StreamHandle stream, std::span<void* const> tensors, void* workspace) {
            timed_launch(stream, name.c_str(),
                         [&] { chosen->graph->run(chosen->engine, stream, tensors, workspace); });
          }};
}

/// Makes an operation that writes only a part of tensor 2 clear the whole tensor first.
DnnOperation cleared_first(DnnOperation operation, std::size_t bytes) {
  operation.description += ", cleared first";
  operation.run = [run = std::move(operation.run), bytes](StreamHandle stream, std::span<void* const> tensors,
                                                          void* workspace) {
    timed_launch(stream, "memset",
                 [&] { check_cuda(cudaMemsetAsync(tensors[2], 0, bytes, stream), "cudaMemsetAsync"); });
    run(stream, tensors, workspace);
  };
  return operation;
}

/// A convolution followed by a kernel for an epilogue that the library does not support. `epilogue`: its
/// addresses are set in each run. `bias`: whether tensor 2 is a bias, which only the kernel reads.
DnnOperation finished_by_kernel(DnnOperation operation, const LateEpilogue& epilogue, bool bias) {
  operation.description += ", then a kernel";
  operation.run = [run = std::move(operation.run), epilogue, bias](
                      StreamHandle stream, std::span<void* const> tensors, void* workspace) {
    LateEpilogue placed = epilogue;
    placed.bias = bias ? tensors[2] : nullptr;
    placed.values = tensors.back();
    run(stream, std::array{tensors[0], tensors[1], tensors.back()}, workspace);
    run_epilogue(stream, placed);
  };
  return operation;
}

std::size_t volume(int a, int b, int c) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

class Cudnn final : public Dnn {
 public:
  explicit Cudnn(const CudnnOptions& options)
      : options_(options),
        target_(std::make_shared<CudnnTarget>(options.device_properties)),
        file_(options.plan_cache, target_->name()),
        used_({}, target_->name()) {}

  DnnOperation plan(const ConvTask& task) override {
    const ConvProblem& problem = task.problem;
    const auto chosen = choose(task);
    if (chosen == nullptr) {
      return finished_by_kernel(plan({problem, task.direction}),
                                {.type = problem.type,
                                 .relu = task.relu,
                                 .pixels = volume(problem.samples, problem.out_height, problem.out_width),
                                 .channels = static_cast<std::size_t>(problem.out_channels)},
                                task.bias);
    }
    const bool reads_all =
        rows_of(problem).size == problem.in_height && columns_of(problem).size == problem.in_width;
    if (task.direction != ConvDirection::backward_data || reads_all) return operation_of(chosen);
    const std::size_t elements = volume(problem.in_height, problem.in_width, problem.in_channels) *
                                 static_cast<std::size_t>(problem.samples);
    return cleared_first(operation_of(chosen), elements * bytes_of(problem.type));
  }

  std::string engines() const override { return used_.text(); }
  void use_engines(const std::string& engines) override { file_.add(engines); }

 private:
  /// Engine for a task: chosen before, read from the file, or chosen now. If there is none, returns null for
  /// a task with bias or ReLU, which a kernel can add, else throws Error(resource).
  std::shared_ptr<const Chosen> choose(const ConvTask& task) {
    const std::string what = describe(task);
    auto& known = chosen_[what];
    if (known != nullptr) return known;
    auto chosen = std::make_shared<Chosen>();
    chosen->what = what;
    chosen->target = target_;
    chosen->graph = conv_graph(*target_, task);
    if (use_file(what, *chosen) || use_fastest(what, *chosen) || use_first(what, task.problem, *chosen)) {
      return known = std::move(chosen);
    }
    if (task.bias || task.relu) return nullptr;
    throw Error(Category::resource, fmt::format("{} has no deterministic engine for {} ({})", target_->name(),
                                                what, chosen->graph->refusal()));
  }

  bool times() const { return options_.time_plans && options_.write_plan_cache && !target_->is_described(); }

  bool use_file(const std::string& what, Chosen& chosen) {
    const auto stored = file_.find(what);
    if (!stored) return false;
    const auto& engines = chosen.graph->engines();
    const auto found = std::ranges::find(engines, stored->engine, &CudnnGraph::Engine::name);
    if (found == engines.end() || !build(chosen, static_cast<std::size_t>(found - engines.begin()))) {
      throw Error(Category::data,
                  fmt::format("{}: {} cannot run {} by engine {}; remove the file to choose engines again",
                              file_.path().string(), target_->name(), what, stored->engine));
    }
    used_.set(what, *stored);
    return true;
  }

  bool use_fastest(const std::string& what, Chosen& chosen) {
    if (!times()) return false;
    const auto fastest = fastest_engine(*chosen.graph);
    if (!fastest) return false;
    chosen.engine = fastest->engine;
    store(what, {chosen.graph->engines()[fastest->engine].name, fastest->microseconds});
    return true;
  }

  bool use_first(const std::string& what, const ConvProblem& problem, Chosen& chosen) {
    const auto& engines = chosen.graph->engines();
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      if (!build(chosen, i)) continue;
      const bool is_good =
          reason_to_avoid(problem, engines[i].name, chosen.graph->workspace_bytes(i)).empty();
      if (is_good || !first) first = i;
      if (is_good) break;
    }
    if (!first) return false;
    chosen.engine = *first;
    store(what, {engines[*first].name});
    return true;
  }

  static bool build(Chosen& chosen, std::size_t engine) {
    chosen.engine = engine;
    return chosen.graph->build(engine);
  }

  void store(const std::string& what, const EngineChoice& choice) {
    used_.set(what, choice);
    if (options_.plan_cache.empty() || !options_.write_plan_cache) return;
    file_.set(what, choice);
    file_.save();
  }

  CudnnOptions options_;
  std::shared_ptr<const CudnnTarget> target_;
  PlanFile file_;
  PlanFile used_;  ///< choices of this run
  std::map<std::string, std::shared_ptr<const Chosen>> chosen_;
};

}  // namespace

std::unique_ptr<Dnn> make_cudnn(const CudnnOptions& options) { return std::make_unique<Cudnn>(options); }

}  // namespace lockstep::cuda
