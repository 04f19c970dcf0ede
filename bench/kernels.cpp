// Measures CPU operations with each instruction set of this machine, in one thread; prints the best of many
// runs.
//   kernels [samples [seconds per operation [part of a name]]]
// Not part of the default build: compile with src/ on the include path, link with the lockstep library.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "graph/operations.h"
#include "ops/cpu/op.h"

using namespace lockstep;

namespace {

struct Layer {
  std::string name;
  Operation operation;
  Shape input;
  GraphNode::Epilogue epilogue = {};

  /// Whether the layer reads images, so that the gradient of its input is not needed.
  bool is_first() const { return input.channels <= 3; }
};

/// A convolution as in residual and mobile networks: padded by half the kernel size, without bias and
/// epilogue.
Layer plain(const char* name, int inputs, int size, int outputs, int kernel, int stride, int groups = 1) {
  return {.name = name,
          .operation = Conv2d{.channels = outputs,
                              .kernel = kernel,
                              .stride = stride,
                              .padding = kernel / 2,
                              .groups = groups,
                              .bias = false},
          .input = {inputs, size, size}};
}

std::vector<Layer> layers() {
  return {
      {"LeNet 1->20 3x3 pool", Conv2d{.channels = 20, .kernel = 3}, {1, 26, 26}, {.relu = true, .pool = 2}},
      {"LeNet 20->50 5x5 pool", Conv2d{.channels = 50, .kernel = 5}, {20, 12, 12}, {.relu = true, .pool = 2}},
      {"LeNet 800->128", Linear{.features = 128}, {800, 1, 1}, {.relu = true}},
      {"LeNet 128->10", Linear{.features = 10}, {128, 1, 1}},
      {"64->64 3x3 padded, 16x16",
       Conv2d{.channels = 64, .kernel = 3, .padding = 1},
       {64, 16, 16},
       {.relu = true}},
      {"64->64 3x3 stride 2, 16x16",
       Conv2d{.channels = 64, .kernel = 3, .stride = 2, .padding = 1},
       {64, 16, 16},
       {.relu = true}},
      {"64->64 1x1, 8x8", Conv2d{.channels = 64}, {64, 8, 8}},
      {"3->64 3x3 padded, 28x28", Conv2d{.channels = 64, .kernel = 3, .padding = 1}, {3, 28, 28}},
      plain("64->64 3x3, 28x28", 64, 28, 64, 3, 1),
      plain("128->128 3x3, 14x14", 128, 14, 128, 3, 1),
      plain("256->256 3x3, 7x7", 256, 7, 256, 3, 1),
      plain("512->512 3x3, 4x4", 512, 4, 512, 3, 1),
      plain("3->64 7x7 stride 2, 224x224", 3, 224, 64, 7, 2),
      plain("64->128 3x3 stride 2, 28x28", 64, 28, 128, 3, 2),
      plain("128->256 3x3 stride 2, 14x14", 128, 14, 256, 3, 2),
      plain("256->512 3x3 stride 2, 7x7", 256, 7, 512, 3, 2),
      plain("64->128 1x1 stride 2, 28x28", 64, 28, 128, 1, 2),
      plain("256->512 1x1 stride 2, 56x56", 256, 56, 512, 1, 2),
      plain("64->256 1x1, 56x56", 64, 56, 256, 1, 1),
      plain("256->64 1x1, 56x56", 256, 56, 64, 1, 1),
      plain("512->128 1x1, 28x28", 512, 28, 128, 1, 1),
      plain("256->1024 1x1, 14x14", 256, 14, 1024, 1, 1),
      plain("512->2048 1x1, 7x7", 512, 7, 2048, 1, 1),
      plain("2048->512 1x1, 7x7", 2048, 7, 512, 1, 1),
      plain("16->96 1x1, 112x112", 16, 112, 96, 1, 1),
      plain("144->24 1x1, 56x56", 144, 56, 24, 1, 1),
      plain("96 depthwise 3x3 stride 2, 112x112", 96, 112, 96, 3, 2, 96),
      plain("144 depthwise 3x3, 56x56", 144, 56, 144, 3, 1, 144),
      plain("384 depthwise 3x3, 14x14", 384, 14, 384, 3, 1, 384),
      plain("240 depthwise 5x5, 28x28", 240, 28, 240, 5, 1, 240),
      plain("128->128 3x3 in 32 groups, 28x28", 128, 28, 128, 3, 1, 32),
  };
}

/// Owns aligned arrays, filled with random values between -0.5 and 0.5.
class Arrays {
 public:
  float* add(std::size_t count) {
    std::vector<float>& array = arrays_.emplace_back(count + 16);
    float* data = array.data();
    while (reinterpret_cast<std::uintptr_t>(data) % 64 != 0) {
      ++data;
    }
    for (std::size_t i = 0; i < count; ++i) {
      data[i] = static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX) - 0.5F;
    }
    return data;
  }

 private:
  std::vector<std::vector<float>> arrays_;
};

double best_seconds(double budget, const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  double best = 1e9;
  for (const auto start = Clock::now(); seconds(Clock::now() - start) < budget;) {
    const auto before = Clock::now();
    run();
    best = std::min(best, seconds(Clock::now() - before));
  }
  return best;
}

void measure(const Layer& layer, int samples, double budget, cpu::Level level) {
  LayerContext context{.name = layer.name, .inputs = {&layer.input, 1}};
  context.output = infer(layer.operation, context);
  GraphNode node;
  node.operation = layer.operation;
  node.epilogue = layer.epilogue;
  const int window = std::max(layer.epilogue.pool, 1);
  node.shape = {context.output.channels, context.output.height / window, context.output.width / window};
  const cpu::Op op = cpu::plan_op({.node = node,
                                   .inputs = {layer.input},
                                   .samples = samples,
                                   .training = true,
                                   .input_gradient = !layer.is_first(),
                                   .level = level});
  const std::size_t lanes = static_cast<std::size_t>(cpu::groups_of(samples)) * cpu::lanes;
  Arrays arrays;
  cpu::OpMemory memory;
  memory.samples = samples;
  memory.inputs[0] = arrays.add(layer.input.size() * lanes);
  memory.output = arrays.add(node.shape.size() * lanes);
  memory.grad_output = arrays.add(node.shape.size() * lanes);
  for (std::size_t k = 0; const Parameter& parameter : parameters_of(layer.operation, context)) {
    memory.parameters[k] = arrays.add(parameter.size());
    memory.grad_parameters[k++] = arrays.add(parameter.size());
  }
  memory.saved = reinterpret_cast<std::byte*>(arrays.add(op.saved_bytes / sizeof(float) + 1));
  memory.scratch = reinterpret_cast<std::byte*>(arrays.add(op.scratch_bytes / sizeof(float) + 1));

  const double forward = best_seconds(budget, [&] { op.forward(memory); });
  const double weights = best_seconds(budget, [&] { op.backward(memory); });
  double data = 0;
  if (!layer.is_first()) {
    memory.grad_inputs[0] = arrays.add(layer.input.size() * lanes);
    data = best_seconds(budget, [&] { op.backward(memory); }) - weights;
  }
  const double giga = 2e-9 * static_cast<double>(multiply_adds(layer.operation, context)) * samples;
  fmt::print("{:7} {:34} forward {:8.1f} us {:6.1f} GF/s   weights {:8.1f} us {:6.1f} GF/s",
             level_name(level), layer.name, forward * 1e6, giga / forward, weights * 1e6, giga / weights);
  if (data > 0) {
    fmt::print("   data {:8.1f} us {:6.1f} GF/s", data * 1e6, giga / data);
  }
  fmt::print("\n");
}

}  // namespace

int main(int count, char** arguments) {
  const int samples = count > 1 ? std::atoi(arguments[1]) : 32;
  const double budget = count > 2 ? std::atof(arguments[2]) : 0.2;
  const std::string part = count > 3 ? arguments[3] : "";
  for (const cpu::Level level : cpu::available_levels()) {
    if (level == cpu::Level::amx) continue;  // for floats, amx uses the kernels of avx512
    for (const Layer& each : layers()) {
      if (each.name.find(part) != std::string::npos) measure(each, samples, budget, level);
    }
  }
}
