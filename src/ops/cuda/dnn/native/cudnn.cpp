#include "ops/cuda/dnn/cudnn.h"

#include <fmt/format.h>

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

/// A graph with its chosen engine. Owns the target, whose handle runs need.
struct Chosen {
  std::string what;  ///< operation and problem
  std::shared_ptr<const CudnnTarget> target;
  std::unique_ptr<CudnnGraph> graph;
  std::size_t engine = 0;
};

class CudnnOperation final : public DnnOperation {
 public:
  explicit CudnnOperation(std::shared_ptr<const Chosen> chosen)
      : chosen_(std::move(chosen)),
        name_(chosen_->what + ", " + engine().name),
        workspace_bytes_(chosen_->graph->workspace_bytes(chosen_->engine)) {}

  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  void run(StreamHandle stream, std::span<void* const> tensors, void* workspace) const override {
    timed_launch(stream, name_.c_str(),
                 [&] { chosen_->graph->run(chosen_->engine, stream, tensors, workspace); });
  }
  std::string description() const override { return engine().name; }
  std::string notes() const override { return engine().notes; }

 private:
  const CudnnGraph::Engine& engine() const { return chosen_->graph->engines()[chosen_->engine]; }

  std::shared_ptr<const Chosen> chosen_;
  std::string name_;
  std::size_t workspace_bytes_;
};

/// An operation that writes a part of tensor 2, which is cleared first.
class ClearedOperation final : public DnnOperation {
 public:
  ClearedOperation(std::unique_ptr<DnnOperation> operation, std::size_t bytes)
      : operation_(std::move(operation)), bytes_(bytes) {}

  std::size_t workspace_bytes() const override { return operation_->workspace_bytes(); }
  void run(StreamHandle stream, std::span<void* const> tensors, void* workspace) const override {
    timed_launch(stream, "memset",
                 [&] { check_cuda(cudaMemsetAsync(tensors[2], 0, bytes_, stream), "cudaMemsetAsync"); });
    operation_->run(stream, tensors, workspace);
  }
  std::string description() const override { return operation_->description() + ", cleared first"; }
  std::string notes() const override { return operation_->notes(); }

 private:
  std::unique_ptr<DnnOperation> operation_;
  std::size_t bytes_;
};

/// A convolution followed by a kernel for an epilogue that the library does not support.
class FinishedOperation final : public DnnOperation {
 public:
  /// `epilogue`: without addresses. `bias`: whether tensor 2 is a bias, which only the kernel reads.
  FinishedOperation(std::unique_ptr<DnnOperation> operation, const LateEpilogue& epilogue, bool bias)
      : operation_(std::move(operation)), epilogue_(epilogue), bias_(bias) {}

  std::size_t workspace_bytes() const override { return operation_->workspace_bytes(); }
  void run(StreamHandle stream, std::span<void* const> tensors, void* workspace) const override {
    LateEpilogue epilogue = epilogue_;
    epilogue.bias = bias_ ? tensors[2] : nullptr;
    epilogue.values = tensors.back();
    operation_->run(stream, std::array{tensors[0], tensors[1], tensors.back()}, workspace);
    run_epilogue(stream, epilogue);
  }
  std::string description() const override { return operation_->description() + ", then a kernel"; }
  std::string notes() const override { return operation_->notes(); }

 private:
  std::unique_ptr<DnnOperation> operation_;
  LateEpilogue epilogue_;
  bool bias_;
};

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

  std::unique_ptr<DnnOperation> conv_forward(const ConvProblem& problem, bool bias, bool relu) override {
    auto chosen = choose(problem, ConvDirection::forward, bias, relu);
    if (chosen != nullptr) return std::make_unique<CudnnOperation>(std::move(chosen));
    return std::make_unique<FinishedOperation>(
        conv_forward(problem, false, false),
        LateEpilogue{.type = problem.type,
                     .relu = relu,
                     .pixels = volume(problem.samples, problem.out_height, problem.out_width),
                     .channels = static_cast<std::size_t>(problem.out_channels)},
        bias);
  }

  std::unique_ptr<DnnOperation> conv_backward_data(const ConvProblem& problem) override {
    auto operation = std::make_unique<CudnnOperation>(choose(problem, ConvDirection::backward_data));
    if (rows_of(problem).size == problem.in_height && columns_of(problem).size == problem.in_width)
      return operation;
    const std::size_t elements = volume(problem.in_height, problem.in_width, problem.in_channels) *
                                 static_cast<std::size_t>(problem.samples);
    return std::make_unique<ClearedOperation>(std::move(operation), elements * bytes_of(problem.type));
  }

  std::unique_ptr<DnnOperation> conv_backward_weights(const ConvProblem& problem) override {
    return std::make_unique<CudnnOperation>(choose(problem, ConvDirection::backward_weights));
  }

  std::string engines() const override { return used_.text(); }
  void use_engines(const std::string& engines) override { file_.add(engines); }

 private:
  /// Engine for an operation on a problem: known, from the file, or chosen now. If there is none, returns
  /// null with bias or ReLU, which a kernel can add, else throws Error(resource).
  std::shared_ptr<const Chosen> choose(const ConvProblem& problem, ConvDirection direction, bool bias = false,
                                       bool relu = false) {
    const std::string what = describe(problem, direction, bias, relu);
    auto& known = chosen_[what];
    if (known != nullptr) return known;
    auto chosen = std::make_shared<Chosen>();
    chosen->what = what;
    chosen->target = target_;
    chosen->graph = conv_graph(*target_, problem, direction, bias, relu);
    if (use_file(what, *chosen) || use_fastest(what, *chosen) || use_first(what, problem, *chosen)) {
      return known = std::move(chosen);
    }
    if (bias || relu) return nullptr;
    throw Error(Category::resource, fmt::format("{} has no deterministic engine for {} ({})", target_->name(),
                                                what, chosen->graph->refusal()));
  }

  bool times() const { return options_.time_plans && options_.write_plan_cache && !target_->is_described(); }

  bool use_file(const std::string& what, Chosen& chosen) {
    const auto stored = file_.find(what);
    if (!stored) return false;
    const auto& engines = chosen.graph->engines();
    for (std::size_t i = 0; i < engines.size(); ++i) {
      if (engines[i].name != stored->engine) continue;
      used_.set(what, *stored);
      return build(chosen, i) || refuse_stored(what, *stored);
    }
    return refuse_stored(what, *stored);
  }

  [[noreturn]] bool refuse_stored(const std::string& what, const EngineChoice& stored) const {
    throw Error(Category::data,
                fmt::format("{}: {} cannot run {} by engine {}; remove the file to choose engines again",
                            file_.path().string(), target_->name(), what, stored.engine));
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
