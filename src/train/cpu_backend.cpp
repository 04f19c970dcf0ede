#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/batch_reader.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "ops/cpu/cpu_plan.h"
#include "train/backend.h"
#include "train/outcome.h"

namespace lockstep {
namespace {

class CpuLeafRunner final : public LeafRunner {
 public:
  CpuLeafRunner(Device& device, const Plan& plan, const Loader& loader)
      : plan_(plan),
        loader_(loader),
        workspace_(device.allocate(plan.workspace_bytes())),
        reader_(loader.dataset(), loader.transform(), loader.bad_samples(), loader.micro_batch()),
        ids_(loader.micro_batch()) {}

  void run(std::uint32_t leaf, const float* parameters, const LeafOutputs& outputs) override {
    auto start = std::chrono::steady_clock::now();
    const Batch batch = read(leaf);
    samples_ = static_cast<int>(batch.samples());
    plan_.load(batch, workspace_.data());
    seconds.load += lap(start);
    *outputs.result = plan_.forward(samples_, parameters, workspace_.data());
    seconds.forward += lap(start);
    if (outputs.gradients != nullptr) {
      plan_.backward(samples_, parameters, outputs.gradients, workspace_.data());
      seconds.backward += lap(start);
    }
    if (outputs.predictions != nullptr) write(batch, outputs.predictions);
  }

  void forward_node(std::size_t node, const float* parameters) override {
    plan_.forward_node(node, samples_, parameters, workspace_.data());
  }
  void loss(LeafResult* result) override { *result = plan_.loss(samples_, workspace_.data()); }
  void backward_node(std::size_t node, const float* parameters, float* gradients) override {
    plan_.backward_node(node, samples_, parameters, gradients, workspace_.data());
  }

  VisitSum visits() override { return visits_; }

 private:
  Batch read(std::uint32_t leaf) {
    const auto ids = std::span(ids_).first(loader_.samples(leaf));
    for (std::uint32_t i = 0; i < ids.size(); ++i) {
      ids[i] = loader_.id(leaf, i);
      visits_.add(ids[i]);
    }
    return reader_.read(ids, {.epoch = loader_.epoch(), .number = loader_.number(leaf)});
  }

  void write(const Batch& batch, Prediction* predictions) const {
    const auto predicted = plan_.predictions(static_cast<int>(batch.samples()), workspace_.data());
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      predictions[i] = i < predicted.size() ? Prediction{batch.labels[i], predicted[i]} : Prediction{};
    }
  }

  const Plan& plan_;
  const Loader& loader_;
  Buffer workspace_;
  BatchReader reader_;
  std::vector<std::uint64_t> ids_;
  int samples_ = 0;  ///< of the last run
  VisitSum visits_;
};

class CpuCompiledGraph final : public CompiledGraph {
 public:
  CpuCompiledGraph(Device& device, std::unique_ptr<Plan> plan, GradientFlow gradients)
      : device_(device), plan_(std::move(plan)), gradients_(std::move(gradients)) {}
  std::unique_ptr<LeafRunner> make_runner(const Loader& loader, StepLog /*log*/) override {
    return std::make_unique<CpuLeafRunner>(device_, *plan_, loader);
  }
  GradientFlow gradients() const override { return gradients_; }

 private:
  Device& device_;
  std::unique_ptr<Plan> plan_;
  GradientFlow gradients_;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const CpuOptions& options, cpu::Level level)
      : device_(make_cpu_device(options)), level_(level), threads_(options.threads) {}

  Device& device() override { return *device_; }
  const Summation& summation() const override { return cpu_summation(); }
  std::unique_ptr<CompiledGraph> compile(const Graph& graph, const ArenaLayout& layout,
                                         const PlanOptions& options) override {
    return std::make_unique<CpuCompiledGraph>(*device_, cpu::make_plan(graph, layout, options, level_),
                                              trace_gradients(graph, options));
  }
  std::unique_ptr<ArenaUpdate> make_update(const ArenaUpdateOptions& options) override {
    return make_cpu_arena_update(options);
  }
  void conclude(std::span<const LeafResult> results, const StepTable& table) override {
    table.log().outcome() = outcome_of(results);
    std::uint32_t* const positions = table.positions();
    positions[1] = positions[0]++;
  }
  bool times_parts() const override { return true; }
  int threads() const override { return threads_; }
  std::string name() const override { return cpu::level_name(level_); }

 private:
  std::unique_ptr<Device> device_;
  cpu::Level level_;
  int threads_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  if (options.execution.dtype != DataType::fp32) {
    throw Error(Category::usage, fmt::format("CPU ranks compute in fp32: {} is for CUDA (--device cuda)",
                                             name_of(options.execution.dtype)));
  }
  CpuOptions cpu{.threads = options.execution.threads, .pin = options.pin};
  if (options.world != nullptr) {
    cpu.local_rank = options.world->local_rank();
    cpu.local_size = options.world->local_size();
  }
  if (cpu.threads == 0) cpu.threads = available_cores(cpu.local_rank, cpu.local_size);
  return std::make_unique<CpuBackend>(cpu, cpu::level_by_name(options.execution.simd));
}

}  // namespace lockstep
