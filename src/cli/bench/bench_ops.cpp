#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/bench/bench.h"
#include "cli/bench/work.h"
#include "cli/model/model_summary.h"
#include "core/json/members.h"
#include "core/text/printable.h"
#include "graph/summary.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "train/check_options.h"
#include "train/session/session.h"

namespace lockstep {
namespace {

/// Cost of a node in one direction, forward or backward.
struct Direction {
  double seconds = 0.0;
  double flop = 0.0;           ///< floating-point operations of the whole micro-batch
  double bytes = 0.0;          ///< minimum number of bytes moved
  std::string limit = {};      ///< limit of a thread that is reached first; empty: unknown
  double limit_seconds = 0.0;  ///< minimum time by that limit; 0: unknown

  void add(const Direction& other) {
    seconds += other.seconds;
    flop += other.flop;
    bytes += other.bytes;
    limit_seconds += other.limit_seconds;
  }
};
LOCKSTEP_MEMBERS(Direction, seconds, flop, bytes, limit, limit_seconds)

struct Row {
  std::string name = {};
  std::string operation = {};
  std::string output = {};
  std::size_t parameters = 0;
  Direction forward = {};
  std::optional<Direction> backward = {};

  double seconds() const { return forward.seconds + (backward ? backward->seconds : 0.0); }
};
LOCKSTEP_MEMBERS(Row, name, operation, output, parameters, forward, backward)

struct OperationResults {
  std::string processor;
  DataType dtype = DataType::fp32;
  std::uint32_t samples = 0;  ///< samples of the micro-batch
  std::uint32_t batch = 0;
  std::vector<Row> operations = {};
  double sum_seconds = 0.0;
  double in_one_go_seconds = 0.0;
  double prepare_seconds = 0.0;  ///< once per step, to convert parameters to the form that operations read
  std::optional<ThreadLimits> limits = {};
};
LOCKSTEP_MEMBERS(OperationResults, processor, dtype, samples, batch, operations, sum_seconds,
                 in_one_go_seconds, prepare_seconds, limits)

Row sum_of(const std::vector<Row>& rows) {
  Row sum{.name = "sum", .backward = Direction{}};
  for (const Row& row : rows) {
    sum.parameters += row.parameters;
    sum.forward.add(row.forward);
    if (row.backward) sum.backward->add(*row.backward);
  }
  return sum;
}

/// One micro-batch of a network, compiled for training, on one executor of this rank. Operations run one by
/// one, on the values left by a run of all operations.
class CompiledMicroBatch {
 public:
  CompiledMicroBatch(const World& world, const Network& network, const Dataset& dataset,
                     const BenchOptions& options)
      : options_(options),
        network_(network),
        graph_(build_graph(network)),
        layout_(layout_arena(network.parameters())),
        session_(world, find_placement(world, options.execution), one_thread(options.execution)),
        samples_(samples_of(options, dataset, session_.placement())),
        loader_(dataset, samples_, options.input, options.augment),
        plan_{.samples = static_cast<int>(samples_), .nodes_apart = true},
        compiled_(session_.backend().compile(graph_, layout_, plan_)),
        work_(work_of(network_, graph_, *compiled_, samples_)),
        limits_(session_.backend().measure_limits()),
        runner_(std::move(compiled_->make_runners(loader_, 1, {}).front())),
        parameters_(session_.device().allocate(layout_.elements * sizeof(float))),
        gradients_(session_.device().allocate(layout_.elements * sizeof(float))),
        result_(session_.device().allocate(sizeof(LeafResult))),
        timer_(session_.device()) {
    const HostView view(session_.device(), parameters_);
    initialize_parameters(network.parameters(), layout_, 0, view.floats().data());
    view.store();
    loader_.set_step(0, samples_);
    const SampleRange own{.first = 0, .samples = samples_};
    runner_->expect({&own, 1});
    run_whole();
  }

  /// Measures the operations one by one and all in one program, and the preparation that a step makes once.
  OperationResults measure() {
    OperationResults results{.processor = session_.backend().name(),
                             .dtype = options_.execution.dtype,
                             .samples = samples_,
                             .batch = static_cast<std::uint32_t>(options_.batch.size)};
    for (std::size_t i = 1; i < graph_.nodes.size(); ++i) results.operations.push_back(measure_node(i));
    results.operations.push_back(measure_loss());
    results.sum_seconds = sum_of(results.operations).seconds();
    results.in_one_go_seconds = measure([this](Stream& stream) { run_nodes(stream); });
    results.prepare_seconds = measure([this](Stream& stream) { runner_->prepare(stream, parameters()); });
    results.limits = limits_;
    return results;
  }

 private:
  Row measure_node(std::size_t node) {
    Row row = describe_node(node);
    const NodeRange alone{node, node + 1};
    row.forward.seconds =
        measure([this, alone](Stream& stream) { runner_->forward(stream, alone, parameters(), nullptr); });
    if (row.backward) {
      row.backward->seconds = measure(
          [this, alone](Stream& stream) { runner_->backward(stream, alone, parameters(), gradients()); });
    }
    return row;
  }

  /// Measures the loss together with its gradient.
  Row measure_loss() {
    return {.name = "loss",
            .operation = "cross_entropy",
            .output = "1",
            .forward = {.seconds = measure([this](Stream& stream) {
                          run_forward(stream, {graph_.nodes.size(), graph_.nodes.size() + 1});
                        })}};
  }

  static std::uint32_t samples_of(const BenchOptions& options, const Dataset& dataset,
                                  const Placement& placement) {
    const auto samples = static_cast<std::uint32_t>(
        options.batch.size / micro_batches_of(options.batch, placement.common_device()));
    if (samples <= dataset.size()) return samples;
    throw Error(Category::usage, fmt::format("a micro-batch of {} samples of a data set of {}: use a smaller "
                                             "batch, or more micro-batches",
                                             samples, dataset.size()));
  }

  const float* parameters() const { return parameters_.floats().data(); }
  float* gradients() const { return gradients_.floats().data(); }

  Row describe_node(std::size_t node) const {
    Row row{.name = graph_.nodes[node].name,
            .output = text_of(graph_.nodes[node].shape),
            .forward = direction_of(work_[node].forward)};
    for (const std::size_t position : layers_of(graph_, node)) {
      const Network::Layer& layer = network_.layers()[position];
      row.operation += (row.operation.empty() ? "" : " + ") + describe(layer.operation);
      row.parameters += trained_parameters(network_, layer);
    }
    if (work_[node].backward) row.backward = direction_of(*work_[node].backward);
    return row;
  }

  Direction direction_of(const Work& work) const {
    Direction direction{.flop = work.flop, .bytes = work.bytes};
    if (limits_) {
      const NearestLimit nearest = nearest_limit(*limits_, work);
      direction.limit = nearest.name;
      direction.limit_seconds = nearest.seconds;
    }
    return direction;
  }

  void run_forward(Stream& stream, NodeRange range) {
    runner_->forward(stream, range, parameters(), result_.as<LeafResult>());
  }
  void run_nodes(Stream& stream) {
    run_forward(stream, runner_->nodes_and_loss());
    runner_->backward(stream, runner_->nodes(), parameters(), gradients());
  }

  /// Records a part of the micro-batch on a stream.
  using Part = std::function<void(Stream&)>;

  std::unique_ptr<Program> record(const Part& part, int times) {
    Stream& stream = *session_.device().streams()[0];
    return session_.device().record([&stream, part, times] {
      for (int i = 0; i < times; ++i) part(stream);
    });
  }

  void run_whole() {
    const auto program = record(
        [this](Stream& stream) {
          runner_->prepare(stream, parameters());
          runner_->load(stream, 0);
          run_nodes(stream);
        },
        1);
    timer_.seconds(*program);
  }

  /// Median seconds of `part`. The program repeats `part` until it takes a millisecond, so that neither clock
  /// resolution nor program start matters.
  double measure(const Part& part) {
    constexpr double enough = 1e-3;
    constexpr int max_times = 1024;
    int times = 1;
    auto program = record(part, times);
    timer_.seconds(*program);  // the first run may load the kernels
    while (times < max_times && timer_.seconds(*program) < enough) {
      times *= 4;
      program = record(part, times);
      timer_.seconds(*program);
    }
    std::vector<double> seconds;
    for (int round = 0; round < options_.rounds; ++round) seconds.push_back(timer_.seconds(*program) / times);
    return median(seconds);
  }

  const BenchOptions& options_;
  const Network& network_;
  Graph graph_;
  ArenaLayout layout_;
  Session session_;
  std::uint32_t samples_;
  Loader loader_;
  PlanOptions plan_;
  std::unique_ptr<CompiledGraph> compiled_;
  std::vector<NodeWork> work_;
  std::optional<ThreadLimits> limits_;
  std::unique_ptr<LeafRunner> runner_;
  Buffer parameters_, gradients_, result_;
  ProgramTimer timer_;
};

/// Table cells: microseconds, GFLOP/s, and the share of the nearest limit that is reached.
std::string cells(const Direction& direction) {
  const double speed = direction.flop / direction.seconds * 1e-9;
  return fmt::format("  {:>11.1f}  {:>8}  {}", direction.seconds * 1e6,
                     direction.flop > 0.0 ? fmt::format("{:.1f}", speed) : "",
                     limit_cell(direction.limit, direction.limit_seconds, direction.seconds));
}

std::string text_of(const Row& row, std::size_t name_width, std::size_t operation_width, double all_seconds) {
  return fmt::format("{:<{}}  {:<{}}  {:>11}  {:>10}{}{:<39}  {:>5.1f} %\n", row.name, name_width,
                     row.operation, operation_width, row.output,
                     row.parameters == 0 ? "" : std::to_string(row.parameters), cells(row.forward),
                     row.backward ? cells(*row.backward) : "", 100.0 * row.seconds() / all_seconds);
}

std::string table_of(const std::vector<Row>& rows) {
  std::size_t name_width = 4, operation_width = 9;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    operation_width = std::max(operation_width, row.operation.size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  {:>11}  {:>10}  {:>11}  {:>8}  {:>14}  {:>11}  {:>8}  {:>14}  {:>7}\n",
                  "node", name_width, "operation", operation_width, "output", "parameters", "forward us",
                  "GFLOP/s", "of limit", "backward us", "GFLOP/s", "of limit", "share");
  const Row sum = sum_of(rows);
  for (const Row& row : rows) text += text_of(row, name_width, operation_width, sum.seconds());
  return text + text_of(sum, name_width, operation_width, sum.seconds());
}

std::string text_of(const OperationResults& results) {
  std::string text =
      fmt::format("processor {}  {}  one micro-batch of {} (batch {} = {})\n", results.processor,
                  name_of(results.dtype), counted(results.samples, "sample"), results.batch,
                  counted(results.batch / results.samples, "micro-batch")) +
      (results.limits ? text_of(*results.limits) : "") + table_of(results.operations) +
      fmt::format("in one go    {:.1f} us, {:.0f} % of the sum of {:.1f} us\n",
                  results.in_one_go_seconds * 1e6, 100.0 * results.in_one_go_seconds / results.sum_seconds,
                  results.sum_seconds * 1e6);
  constexpr double nothing = 1e-7;  // seconds of a program without work
  if (results.prepare_seconds > nothing) {
    text += fmt::format("once a step  {:.1f} us to bring parameters into the operations' form\n",
                        results.prepare_seconds * 1e6);
  }
  return text;
}

}  // namespace

int bench_ops(World& world, const BenchOptions& options) {
  world.agree([&] {
    if (world.size() == 1) return;
    throw Error(Category::usage,
                "operations are measured on one rank: start lockstep bench ops without mpirun");
  });
  const DatasetPair data = open_dataset(world, options.data);
  const std::unique_ptr<Network> network =
      make_model(options.model.name, data.train->shape(), data.train->classes());
  check_fit(*network, *data.train);
  CompiledMicroBatch micro_batch(world, *network, *data.train, options);
  ResultPrinter(options.results, world.rank() == 0).print(micro_batch.measure());
  return 0;
}

}  // namespace lockstep
