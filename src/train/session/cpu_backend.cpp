#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/text/printable.h"
#include "data/feed/micro_batch_reader.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "ops/cpu/cpu_plan.h"
#include "ops/cpu/measure_limits.h"
#include "train/session/backend.h"
#include "train/step/outcome.h"

namespace lockstep {
namespace {

class CpuLeafRunner final : public LeafRunner {
 public:
  CpuLeafRunner(Device& device, const cpu::CpuPlan& plan, const Loader& loader)
      : plan_(plan),
        loader_(loader),
        workspace_(device.allocate(plan.workspace_bytes())),
        reader_(loader.dataset(), loader.transform(), loader.bad_samples(), loader.micro_batch()),
        ids_(loader.micro_batch()) {}

  void load(Stream& stream, std::uint32_t leaf) override {
    stream.call([this, leaf] { load_leaf(leaf); }, Phase::load);
  }
  void forward(Stream& stream, NodeRange range, const float* parameters, LeafResult* result) override {
    stream.call([this, range, parameters,
                 result] { plan_.forward(batch_, range, parameters, result, workspace_.data()); },
                Phase::forward);
  }
  void predict(Stream& stream, Prediction* predictions) override {
    stream.call([this, predictions] { write(predictions); }, Phase::forward);
  }
  void write_outputs(Stream& stream, float* outputs) override {
    stream.call([this, outputs] { write(outputs); }, Phase::forward);
  }
  void backward(Stream& stream, NodeRange range, const float* parameters, float* gradients) override {
    stream.call([this, range, parameters,
                 gradients] { plan_.backward(batch_, range, parameters, gradients, workspace_.data()); },
                Phase::backward);
  }

  NodeRange nodes() const override { return plan_.all(); }
  VisitSum visits() override { return visits_; }
  VisitSum contents() const override { return reader_.contents(); }

 private:
  void load_leaf(std::uint32_t leaf) {
    samples_ = loader_.samples(leaf);
    const auto ids = std::span(ids_).first(samples_);
    for (std::uint32_t i = 0; i < ids.size(); ++i) {
      ids[i] = loader_.rule().id(loader_.position(leaf) + i);
      visits_.add(ids[i]);
    }
    batch_ = reader_.read(loader_.rule(), loader_.number(leaf), ids);
    plan_.load(batch_, loader_.transform().format(), workspace_.data());
  }

  void write(Prediction* predictions) const {
    const auto predicted = plan_.predictions(batch_, workspace_.data());
    for (std::size_t i = 0; i < samples_; ++i) {
      predictions[i] = i < predicted.size() ? Prediction{batch_.labels[i], predicted[i]} : Prediction{};
    }
  }

  /// The plan writes the outputs of the samples that could be read, without gaps; they are then moved to
  /// their places, the last one first.
  void write(float* outputs) {
    plan_.write_outputs(batch_, workspace_.data(), outputs);
    const std::size_t count = plan_.outputs_size();
    std::size_t read = batch_.size;
    for (std::size_t place = samples_; place > read; --place) {
      float* const row = outputs + (place - 1) * count;
      if (read > 0 && batch_.ids[read - 1] == ids_[place - 1]) {
        --read;
        std::copy_n(outputs + read * count, count, row);
      } else {
        std::fill_n(row, count, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }

  const cpu::CpuPlan& plan_;
  const Loader& loader_;
  Buffer workspace_;
  MicroBatchReader reader_;
  std::vector<std::uint64_t> ids_;
  MicroBatch batch_;         ///< last leaf loaded
  std::size_t samples_ = 0;  ///< number of samples of batch_ and of samples skipped in it
  VisitSum visits_;
};

class CpuCompiledGraph final : public CompiledGraph {
 public:
  CpuCompiledGraph(Device& device, const Graph& graph, const ArenaLayout& layout, const PlanOptions& options,
                   cpu::Level level, DataType dtype)
      : device_(device),
        gradients_(trace_gradients(graph, options)),
        plan_(graph, layout, options, level, dtype) {}
  LeafRunners make_runners(const Loader& loader, std::uint32_t /*leaves*/, StepLog /*log*/) override {
    check_workspaces(loader.micro_batch());
    LeafRunners runners;
    for (std::size_t left = device_.streams().size(); left > 0; --left) {
      runners.push_back(std::make_unique<CpuLeafRunner>(device_, plan_, loader));
    }
    return runners;
  }
  GradientFlow gradients() const override { return gradients_; }
  std::vector<NodeTraffic> traffic() const override { return plan_.traffic(); }
  bool multiplies_bf16(std::size_t node) const override { return plan_.multiplies_bf16(node); }

 private:
  /// Checks that the workspaces fit into memory. Memory is allocated on first write, so a signal would
  /// otherwise kill the run in the middle of a step.
  void check_workspaces(std::uint32_t samples) const {
    const std::size_t executors = device_.streams().size();
    const std::size_t wanted = plan_.workspace_bytes() * executors, available = device_.available_bytes();
    if (wanted <= available) return;
    throw Error(
        Category::resource,
        fmt::format("not enough memory: micro-batches of {} on {} take {} MB, {} MB are "
                    "available to this rank: use more micro-batches or fewer threads",
                    counted(samples, "sample"), counted(executors, "thread"), wanted >> 20, available >> 20));
  }

  Device& device_;
  GradientFlow gradients_;
  cpu::CpuPlan plan_;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const CpuOptions& options, cpu::Level level, DataType dtype)
      : device_(make_cpu_device(options)), level_(level), dtype_(dtype), threads_(options.threads) {}

  Device& device() override { return *device_; }
  Summation& summation() override { return *summation_; }
  std::unique_ptr<CompiledGraph> compile(const Graph& graph, const ArenaLayout& layout,
                                         const PlanOptions& options) override {
    return std::make_unique<CpuCompiledGraph>(*device_, graph, layout, options, level_, dtype_);
  }
  std::unique_ptr<ArenaUpdate> make_update(const ArenaUpdateOptions& options) override {
    return make_cpu_arena_update(options);
  }
  void conclude(Stream& stream, std::span<const LeafResult> results, const StepTable& table) override {
    stream.call(
        [results, &table] {
          table.log().outcome() = outcome_of(results);
          std::uint32_t* const positions = table.positions();
          positions[1] = positions[0]++;
        },
        Phase::reduce);
  }
  int threads() const override { return threads_; }
  void on_host_threads(const std::function<void()>& work) override {
    const auto describe = [&] {
      for (Stream* stream : device_->streams()) stream->call(work, Phase::load);
    };
    device_->record(describe)->run();
  }
  std::string name() const override { return cpu::level_name(level_); }
  std::optional<ThreadLimits> measure_limits() override { return cpu::measure_limits(level_, *device_); }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Summation> summation_ = make_cpu_summation();
  cpu::Level level_;
  DataType dtype_;
  int threads_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  if (options.execution.dtype == DataType::tf32) {
    throw Error(Category::usage, "tf32 is for CUDA; ranks on CPUs compute in fp32 or bf16", "dtype");
  }
  CpuOptions cpu{.threads = options.execution.threads, .pin = options.pin};
  if (options.world != nullptr) {
    cpu.local_rank = options.world->local_rank();
    cpu.local_size = options.world->local_size();
  }
  if (cpu.threads == 0) cpu.threads = available_cores(cpu.local_rank, cpu.local_size);
  return std::make_unique<CpuBackend>(cpu, cpu::level_by_name(name_of(options.execution.simd)),
                                      options.execution.dtype);
}

}  // namespace lockstep
