// Time that the kernels of a step need at least, computed from the shapes of the network: docs/performance.md
// shows the tables that this test makes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "data/augment/placement.h"
#include "ops/cuda/dnn/flattening.h"
#include "ops/cuda/dnn/problems.h"
#include "ops/cuda/gradient_buckets.h"
#include "ops/cuda/kernels/batch_norm_training.h"
#include "ops/cuda/kernels/parameters/column_sum.h"
#include "ops/cuda/kernels/parameters/conv_weights.h"
#include "train/cuda/launches.h"

namespace lockstep {
namespace {

// An H200. Bandwidth and bf16 rate are ceilings that copies and matrix products reach; tf32 has half of the
// rate.
constexpr double bytes_per_second = 4.3e12;
constexpr double bf16_per_second = 790e12;
constexpr double tf32_per_second = bf16_per_second / 2;
constexpr double launch_seconds = 2.2e-6;

/// Work of a launch. Bytes count each tensor that it reads or writes once.
struct Work {
  std::string part;    ///< of the step
  std::string kernel;  ///< name in the list of launches
  std::string shape;   ///< of a convolution; empty: of our own kernels
  double bytes = 0.0;
  double operations = 0.0;  ///< of floating-point numbers; those of our own kernels are approximate
};

bool is_library(const Work& work) { return work.kernel.starts_with("conv_"); }

/// Work of a step with a whole batch as its only micro-batch, in the order of its launches.
class StepWork {
 public:
  StepWork(const Network& network, int samples, cuda::Type type)
      : graph_(cuda::without_flattening(build_graph(network), type)),
        flow_(trace_gradients(graph_, {.samples = samples})),
        layout_(layout_arena(network.parameters())),
        samples_(samples),
        type_(type),
        buckets_(cuda::plan_buckets(graph_, layout_, flow_, std::vector<std::size_t>(graph_.nodes.size()))) {
    prepare();
    load();
    for (std::size_t i = 1; i < graph_.nodes.size(); ++i) forward(graph_.nodes[i]);
    add_loss();
    for (std::size_t i = graph_.nodes.size(); i-- > 1;) backward(i);
    if (to_finish_.bytes > 0) finish();
    add("update", "ConcludeLeaves", sizeof(LeafResult) + sizeof(StepInput) + sizeof(StepOutcome), 0);
    // Reads gradient, parameter and momentum, and writes the last two.
    const auto elements = static_cast<double>(layout_.elements);
    add("update", "Update Sgd", 5 * sizeof(float) * elements, 7 * elements);
  }

  const std::vector<Work>& launches() const { return launches_; }

 private:
  void add(const char* part, const char* kernel, double bytes, double operations,
           const std::string& shape = {}) {
    launches_.push_back({part, kernel, shape, bytes, operations});
  }

  const GraphNode& node(int id) const { return graph_.nodes[static_cast<std::size_t>(id)]; }
  const Shape& input_of(const GraphNode& each) const { return node(each.inputs[0]).shape; }
  double element() const { return static_cast<double>(cuda::bytes_of(type_)); }
  /// Elements of an activation with padding channels.
  double elements(const Shape& shape) const {
    return static_cast<double>(
               Shape{cuda::padded_channels(shape.channels), shape.height, shape.width}.size()) *
           samples_;
  }
  double bytes(const Shape& shape) const { return elements(shape) * element(); }

  /// A convolution or a linear layer.
  struct Layer {
    cuda::ConvProblem problem;
    std::string shape;
    double input, output, weights;  ///< bytes of the problem; the output before pooling
    double network_weights;         ///< bytes in the arena
    double operations;
    cuda::ColumnSum sum;
    bool in_arena, bias;
  };
  static bool is_layer(const GraphNode& each) {
    return std::holds_alternative<Conv2d>(each.operation) || std::holds_alternative<Linear>(each.operation);
  }
  Layer layer(const GraphNode& each) const {
    const Shape& input = input_of(each);
    const cuda::ConvProblem p = cuda::conv_problem(each, input, samples_, type_);
    const auto* conv = std::get_if<Conv2d>(&each.operation);
    const int groups = conv != nullptr ? conv->groups : 1;
    const int pixels = conv != nullptr ? 1 : input.height * input.width;
    const bool bias = conv != nullptr ? conv->bias : std::get<Linear>(each.operation).bias;
    const double out = double{1} * p.samples * p.out_height * p.out_width * p.out_channels;
    const double taps = double{1} * p.kernel * p.kernel * p.in_channels / p.groups;
    const auto weight_channels = input.channels / groups;
    std::string shape = fmt::format("{} -> {}", p.in_channels, p.out_channels);
    if (conv != nullptr)
      shape += fmt::format(", {}x{}, {}x{}", p.kernel, p.kernel, p.out_height, p.out_width);
    return {.problem = p,
            .shape = shape,
            .input = double{1} * p.samples * p.in_height * p.in_width * p.in_channels * element(),
            .output = out * element(),
            .weights = static_cast<double>(cuda::padded_weights(p)) * element(),
            .network_weights = double{1} * each.shape.channels * weight_channels * p.kernel * p.kernel *
                               pixels * sizeof(float),
            .operations = 2 * out * taps,
            .sum = {.pixels = static_cast<std::size_t>(out / p.out_channels),
                    .channels = p.out_channels,
                    .type = type_},
            .in_arena = cuda::same_forms(p, {each.shape.channels, input.channels, groups, pixels}),
            .bias = bias};
  }

  void prepare() {
    double sum = 0.0;
    for (const GraphNode& each : graph_.nodes) {
      if (!is_layer(each)) continue;
      const Layer of = layer(each);
      if (!of.in_arena) sum += of.network_weights + of.weights;
    }
    add("prepare", "PadWeights", sum, 0);
  }

  void load() {
    constexpr double chosen =
        2 * sizeof(std::int32_t) + sizeof(std::uint64_t) + sizeof(void*) + sizeof(PixelPlacement);
    add("gather", "ChooseSamples", chosen * samples_, 0);
    const Shape& image = graph_.nodes[0].shape;
    const double pixels = static_cast<double>(image.size()) * samples_;
    add("gather", "GatherImages", pixels + bytes(image), 3 * pixels);
  }

  void forward(const GraphNode& each) {
    if (each.inputs.empty()) return;
    const double out = bytes(each.shape);
    if (is_layer(each)) {
      const Layer of = layer(each);
      add("forward", "conv_forward", of.input + of.weights + of.output, of.operations, of.shape);
      if (each.epilogue.pool > 1) add("forward", "AveragePool", of.output + out, of.output / element());
    } else if (std::holds_alternative<BatchNorm2d>(each.operation)) {
      const double pack = elements(each.shape);
      add("forward", "MeasureChunks", out, 7 * pack);
      add("forward", "NormalizeChunk", (each.epilogue.add ? 3 : 2) * out, (each.epilogue.add ? 4 : 3) * pack);
    } else if (std::holds_alternative<AdaptiveAvgPool2d>(each.operation)) {
      add("forward", "AvgForward", bytes(input_of(each)) + out, elements(input_of(each)));
    } else {
      throw Error(Category::internal, each.name + ": not in the table");
    }
  }

  void add_loss() {
    const Shape& logits = node(graph_.output).shape;
    // Two exponentials of some 20 operations each.
    add("loss", "WholeSamples", 2 * bytes(logits) + 2.0 * sizeof(std::int32_t) * samples_,
        40 * elements(logits));
  }

  void backward(std::size_t i) {
    const GraphNode& each = graph_.nodes[i];
    if (is_layer(each)) {
      backward_of_layer(static_cast<int>(i));
    } else if (std::holds_alternative<BatchNorm2d>(each.operation)) {
      backward_of_norm(static_cast<int>(i));
    } else if (std::holds_alternative<AdaptiveAvgPool2d>(each.operation)) {
      add("backward", "AvgBackward", bytes(input_of(each)) + bytes(each.shape), elements(input_of(each)));
    }
    if (buckets_.ends[i]) finish();
  }

  void backward_of_layer(int id) {
    const GraphNode& each = node(id);
    const Layer of = layer(each);
    const double values = of.output / element();
    if (each.epilogue.pool > 1) {
      add("backward", "SumPacks UndoAveragePool", bytes(each.shape) + 2 * of.output, 2 * values);
    } else if (each.epilogue.relu) {
      add("backward", "SumPacks UndoRelu", 3 * of.output, values);
    } else if (of.bias && !each.zero_bias_gradient) {
      add("backward", "SumPacks ReadPack", of.output, values);
    }
    const double all = of.input + of.weights + of.output;
    if (flow_.needed_by_any(each.inputs)) add("backward", "conv_backward_data", all, of.operations, of.shape);
    add("backward", "conv_backward_weights", all, of.operations, of.shape);
    if (!of.in_arena) to_finish_.bytes += of.weights + of.network_weights;
    if (!of.bias) return;
    const auto chunks = each.zero_bias_gradient ? 0.0 : static_cast<double>(cuda::chunk_bytes(of.sum));
    to_finish_.bytes += chunks + each.shape.channels * sizeof(float);
    to_finish_.operations += chunks / sizeof(float);
  }

  /// Reads input and gradient. A residual's gradient is stored by the first kernel and read by the second.
  void backward_of_norm(int id) {
    const GraphNode& each = node(id);
    const double tensor = bytes(each.shape);
    const double values = elements(each.shape);
    const bool adds = each.epilogue.add;
    const bool clamps = each.epilogue.relu || each.epilogue.relu6;
    const int more = graph_.readers_of(id).size() > 1 ? 1 : 0;
    const int mask = clamps && !adds ? 3 : 0;  // the output is computed again
    const int output = clamps && adds ? 1 : 0;
    add("backward", "SumGradients", (2 + more + output + (adds ? 1 : 0)) * tensor,
        (4 + more + mask) * values);
    add("backward", "DifferentiateChunk", (adds ? 3 : 3 + more) * tensor,
        (5 + (adds ? 0 : more) + mask) * values);
  }

  void finish() {
    add("finish", "FinishGradients", to_finish_.bytes, to_finish_.operations);
    to_finish_ = {};
  }

  Graph graph_;
  GradientFlow flow_;
  ArenaLayout layout_;
  int samples_;
  cuda::Type type_;
  cuda::GradientBuckets buckets_;
  std::vector<Work> launches_;
  Work to_finish_;  ///< what FinishGradients does next
};

/// Launches of one kernel, as a row of a table.
struct Row {
  Work work;  ///< of all launches together
  int launches = 0;
  double memory_seconds = 0.0;
  double computing_seconds = 0.0;
  double seconds = 0.0;

  void add(const Work& launch, double rate) {
    work.bytes += launch.bytes;
    work.operations += launch.operations;
    ++launches;
    const double memory = launch.bytes / bytes_per_second;
    const double computing = is_library(launch) ? launch.operations / rate : 0.0;
    memory_seconds += memory;
    computing_seconds += computing;
    seconds += launch_seconds + std::max(memory, computing);
  }
  const char* bound() const {
    if (std::max(memory_seconds, computing_seconds) < launches * launch_seconds) return "launch";
    return computing_seconds > memory_seconds ? "tensor cores" : "memory";
  }
};

/// Rows of a table: launches with the same key, in the order of their first launch.
class Rows {
 public:
  explicit Rows(double rate) : rate_(rate) {}

  void add(const std::string& key, const Work& launch) {
    const auto same = std::ranges::find(keys_, key);
    const auto place = static_cast<std::size_t>(same - keys_.begin());
    if (same == keys_.end()) {
      keys_.push_back(key);
      rows_.emplace_back();
    }
    rows_[place].add(launch, rate_);
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      text += fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.1f} | {} |\n", keys_[i], row.launches,
                          row.work.bytes / 1e6, row.work.operations / 1e9, row.seconds * 1e6, row.bound());
    }
    return text;
  }

 private:
  double rate_;
  std::vector<std::string> keys_;
  std::vector<Row> rows_;
};

std::string table_of(const std::vector<Work>& launches, double rate) {
  Rows library(rate), own(rate), parts(rate), total(rate);
  for (const Work& launch : launches) {
    if (is_library(launch)) {
      library.add("cuDNN: " + launch.shape, launch);
      total.add("cuDNN", launch);
    } else {
      own.add("`" + launch.kernel + "`", launch);
    }
    parts.add("all of " + launch.part, launch);
  }
  for (const Work& launch : launches) total.add("**step**", launch);
  return "| kernel | launches | MB | GFLOP | us | bound by |\n|---|---|---|---|---|---|\n" + library.text() +
         own.text() + parts.text() + total.text();
}

struct Training {
  const char* model;
  DataType dtype;
  cuda::Type type;
  double rate;
};
const Training trainings[] = {{"lenet", DataType::tf32, cuda::Type::tf32, tf32_per_second},
                              {"resnet18-d2l", DataType::bf16, cuda::Type::bf16, bf16_per_second}};
constexpr int batch = 256;

std::vector<Work> launches_of(const Training& training) {
  const auto network = make_model(training.model, {1, 28, 28}, 10);
  return StepWork(*network, batch, training.type).launches();
}

TEST(Roofline, HasTheLaunchesOfTheProgram) {
  for (const Training& training : trainings) {
    std::vector<std::string> kernels;
    for (const Work& launch : launches_of(training)) kernels.push_back(launch.kernel);
    EXPECT_EQ(kernels, test::launches_of({.model = training.model, .batch = batch, .dtype = training.dtype}))
        << training.model;
  }
}

/// Text between the lines "<!-- roofline NAME begin -->" and "<!-- roofline NAME end -->", without the empty
/// lines at both ends.
std::string documented(const std::string& name) {
  std::stringstream page;
  page << std::ifstream(LOCKSTEP_TEST_DATA "/../docs/performance.md").rdbuf();
  const std::string text = page.str();
  const std::string first = "<!-- roofline " + name + " begin -->\n\n";
  const std::size_t begin = text.find(first);
  const std::size_t end = text.find("\n<!-- roofline " + name + " end -->");
  if (begin == std::string::npos || end == std::string::npos) return {};
  return text.substr(begin + first.size(), end - begin - first.size());
}

TEST(Roofline, IsTheDocumentedTable) {
  for (const Training& training : trainings) {
    const std::string table = table_of(launches_of(training), training.rate);
    EXPECT_EQ(documented(training.model), table) << "docs/performance.md needs this table:\n" << table;
  }
}

}  // namespace
}  // namespace lockstep
