// Every cuDNN engine for a convolution, on a GPU: a --plan-cache file may select any of them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/cuda/device_under_test.h"
#include "ops/cuda/dnn/native/cudnn_graph.h"
#include "ops/cuda/dnn/native/cudnn_target.h"
#include "ops/cuda/dnn/problems.h"
#include "ops/cuda/padded_tensor.h"
#include "ops/op_case.h"

namespace lockstep::test {
namespace {

using cuda::ConvDirection;

struct Values {
  std::vector<double> input, weights, output;
};

std::vector<double>& result_of(ConvDirection direction, Values& values) {
  return direction == ConvDirection::forward         ? values.output
         : direction == ConvDirection::backward_data ? values.input
                                                     : values.weights;
}

/// Adds a convolution's products to the tensor that `direction` computes. Tensors are NHWC, weights KRSC.
void convolve(const cuda::ConvProblem& p, ConvDirection direction, Values& values) {
  const int group_inputs = p.in_channels / p.groups, group_outputs = p.out_channels / p.groups;
  std::size_t y = 0;
  for (int n = 0; n < p.samples; ++n)
    for (int row = 0; row < p.out_height; ++row)
      for (int column = 0; column < p.out_width; ++column)
        for (int k = 0; k < p.out_channels; ++k, ++y)
          for (int r = 0; r < p.kernel; ++r)
            for (int s = 0; s < p.kernel; ++s) {
              const int h = row * p.stride - p.padding + r * p.dilation;
              const int w = column * p.stride - p.padding + s * p.dilation;
              if (h < 0 || h >= p.in_height || w < 0 || w >= p.in_width) continue;
              for (int c = 0; c < group_inputs; ++c) {
                const int channel = k / group_outputs * group_inputs + c;
                double& x = values.input[static_cast<std::size_t>(
                    ((n * p.in_height + h) * p.in_width + w) * p.in_channels + channel)];
                double& weight = values.weights[static_cast<std::size_t>(
                    ((k * p.kernel + r) * p.kernel + s) * group_inputs + c)];
                if (direction == ConvDirection::forward) values.output[y] += x * weight;
                if (direction == ConvDirection::backward_data) x += values.output[y] * weight;
                if (direction == ConvDirection::backward_weights) weight += values.output[y] * x;
              }
            }
}

/// Numbers that every type represents exactly.
std::vector<double> random_values(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> values(size);
  for (double& value : values) value = (static_cast<double>(random() % 255) - 127.0) / 128.0;
  return values;
}

Values random_values_of(const cuda::ConvProblem& p, ConvDirection direction) {
  const auto product = [](std::initializer_list<int> extents) {
    std::size_t result = 1;
    for (const int extent : extents) result *= static_cast<std::size_t>(extent);
    return result;
  };
  Values values{random_values(product({p.samples, p.in_height, p.in_width, p.in_channels}), 1),
                random_values(product({p.out_channels, p.kernel, p.kernel, p.in_channels / p.groups}), 2),
                random_values(product({p.samples, p.out_height, p.out_width, p.out_channels}), 3)};
  std::ranges::fill(result_of(direction, values), 0.0);
  return values;
}

std::vector<std::byte> stored(const std::vector<double>& values, cuda::Type type) {
  std::vector<std::byte> bytes(values.size() * cuda::bytes_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) store_element(type, values[i], bytes.data(), i);
  return bytes;
}

/// Largest absolute difference, divided by the largest absolute expected value.
double error_of(const std::vector<std::byte>& found, const std::vector<double>& expected, cuda::Type type) {
  double difference = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double d = std::abs(static_cast<double>(load_element(type, found.data(), i)) - expected[i]);
    if (!(d <= difference)) difference = d;
    largest = std::max(largest, std::abs(expected[i]));
  }
  return difference / largest;
}

struct Counts {
  int engines = 0;
  int wrong = 0;
};

void try_engines(const cuda::CudnnTarget& target, const cuda::ConvProblem& problem, ConvDirection direction,
                 double tolerance, Counts& counts) {
  Values values = random_values_of(problem, direction);
  const auto graph = conv_graph(target, {problem, direction});
  const std::vector<std::byte> input = stored(values.input, problem.type),
                               weights = stored(values.weights, problem.type),
                               output = stored(values.output, problem.type);
  convolve(problem, direction, values);
  const std::vector<double>& expected = result_of(direction, values);
  for (std::size_t i = 0; i < graph->engines().size(); ++i) {
    if (!graph->build(i)) continue;
    ++counts.engines;
    // Backward data leaves pixels that the convolution does not read unchanged.
    const DeviceMemory result(expected.size() * cuda::bytes_of(problem.type));
    if (direction == ConvDirection::backward_data) result.store(input);
    const DeviceMemory x = on_device(input), w = on_device(weights), y = on_device(output);
    const DeviceMemory workspace(graph->workspace_bytes(i));
    const std::array<void*, 3> tensors{direction == ConvDirection::backward_data ? y.data() : x.data(),
                                       direction == ConvDirection::backward_weights ? y.data() : w.data(),
                                       result.data()};
    run_on_device([&](cuda::StreamHandle stream) { graph->run(i, stream, tensors, workspace.data()); });
    const double error = error_of(result.fetch(), expected, problem.type);
    if (error <= tolerance && result.end_intact() && workspace.end_intact()) continue;
    ++counts.wrong;
    ADD_FAILURE() << name_of(direction) << ": " << describe(problem) << "; after rows "
                  << rows_of(problem).padding_after << ", columns " << columns_of(problem).padding_after
                  << "; " << graph->engines()[i].name << " [" << graph->engines()[i].notes << "] number " << i
                  << ": error " << error
                  << (workspace.end_intact() && result.end_intact() ? "" : ", writes behind an end");
  }
}

TEST(CudnnEngines, AllAgreeWithTheDefinition) {
  const cuda::CudnnTarget target{{}};
  // Some bf16 engines round a few partial sums to bf16.
  const struct {
    cuda::Type type;
    double tolerance;
  } types[] = {{cuda::Type::fp32, 1e-5}, {cuda::Type::tf32, 1e-5}, {cuda::Type::bf16, 2e-2}};
  Counts counts;
  for (const OpCase& op_case : op_cases()) {
    if (!std::holds_alternative<Conv2d>(op_case.node.operation)) continue;
    for (const auto& [type, tolerance] : types) {
      const cuda::ConvProblem problem = cuda::conv_problem(op_case.node, op_case.inputs[0], 5, type);
      for (const ConvDirection direction :
           {ConvDirection::forward, ConvDirection::backward_data, ConvDirection::backward_weights})
        try_engines(target, problem, direction, tolerance, counts);
    }
  }
  std::printf("%d engines, %d of them wrong\n", counts.engines, counts.wrong);
  EXPECT_GT(counts.engines, 1000);
}

}  // namespace
}  // namespace lockstep::test
