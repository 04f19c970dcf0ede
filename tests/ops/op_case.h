#pragma once

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "graph/operations.h"
#include "lockstep/network.h"
#include "ops/plan.h"

namespace lockstep::test {

/// A row of the table of operations.
struct OpCase {
  std::string name;
  GraphNode node;
  std::array<Shape, max_inputs> inputs;
  bool input_gradient = true;
  double range = 1.0;         ///< inputs lie between -range and range
  bool winograd = false;      ///< whether to plan by plan_winograd() regardless of suits_winograd()
  double tolerance = 1.5e-5;  ///< largest difference from the reference / largest value

  /// Sizes of the parameters; 0: no such parameter.
  std::array<std::size_t, max_parameters> parameter_sizes() const {
    std::array<std::size_t, max_parameters> sizes{};
    std::ranges::transform(parameters_of(node.operation, {.name = name, .inputs = inputs}), sizes.begin(),
                           &Parameter::size);
    return sizes;
  }
};
/// Adds the operation to a network, with a convolution of the input for each input after the first.
inline Value add_to(Network& network, const OpCase& op_case) {
  std::vector<Value> inputs{network.input()};
  for (std::size_t k = 1; k < inputs_of(op_case.node.operation).max; ++k) {
    const int channels = op_case.inputs[k].channels;
    if (channels > 0) inputs.push_back(conv2d(network.input(), {.channels = channels}));
  }
  return network.add(op_case.node.operation, inputs);
}
inline void PrintTo(const OpCase& op_case, std::ostream* stream) { *stream << op_case.name; }

struct ConvCase {
  int kernel = 3;
  int stride = 1;
  int padding = 0;
  int dilation = 1;
  int groups = 1;
  bool bias = true;
  bool relu = false;
  int pool = 0;
  bool first = false;  ///< first layer: the input needs no gradient
};

/// A case whose output has the inferred shape, followed by ReLU if `relu`.
inline OpCase simple_case(const std::string& name, const Operation& operation,
                          const std::vector<Shape>& inputs, bool relu = false) {
  OpCase op_case;
  op_case.name = name;
  std::ranges::copy(inputs, op_case.inputs.begin());
  op_case.node.operation = operation;
  op_case.node.epilogue.relu = relu;
  op_case.node.shape = infer(operation, {.name = name, .inputs = inputs});
  return op_case;
}

inline OpCase conv_case(const std::string& name, Shape input, int channels, ConvCase options) {
  OpCase op_case = simple_case(name,
                               Conv2d{.channels = channels,
                                      .kernel = options.kernel,
                                      .stride = options.stride,
                                      .padding = options.padding,
                                      .dilation = options.dilation,
                                      .groups = options.groups,
                                      .bias = options.bias},
                               {input});
  op_case.input_gradient = !options.first;
  op_case.node.epilogue = {.relu = options.relu, .pool = options.pool};
  if (options.pool > 0) {
    op_case.node.shape.height /= options.pool;
    op_case.node.shape.width /= options.pool;
  }
  return op_case;
}

inline OpCase activation_case(const std::string& name, Activation::Kind kind, double range,
                              Shape shape = {3, 5, 4}) {
  OpCase op_case = simple_case(name, Activation{kind}, {shape});
  op_case.range = range;
  return op_case;
}

inline OpCase norm_case(const std::string& name, Shape shape, GraphNode::Epilogue epilogue) {
  OpCase op_case = simple_case(name, BatchNorm2d{}, {shape});
  op_case.node.epilogue = epilogue;
  if (epilogue.add) {
    op_case.inputs[1] = shape;
  }
  return op_case;
}

inline OpCase concat_case(const std::string& name, const std::vector<Shape>& inputs) {
  OpCase op_case = simple_case(name, Concat{}, inputs);
  for (std::size_t k = 0; k < inputs.size(); ++k) op_case.node.inputs.push_back(static_cast<int>(k));
  return op_case;
}

/// 3 x 3 convolutions by Winograd's algorithm, with sizes that are multiples of the blocks and sizes that are
/// not. Errors are below 2e-6; with the interpolation points 0, +-1, +-2, they would be twice as large.
inline std::vector<OpCase> winograd_cases() {
  std::vector<OpCase> cases{
      conv_case("WinogradPadded", {16, 28, 6}, 16, {.padding = 1, .relu = true}),
      conv_case("WinogradUnpadded", {16, 14, 14}, 16, {.relu = true}),
      conv_case("WinogradPaddedByTwo", {16, 7, 7}, 16, {.padding = 2}),
      conv_case("WinogradTile", {24, 4, 4}, 40, {.padding = 1, .relu = true}),
      conv_case("WinogradPixel", {17, 1, 1}, 19, {.padding = 1}),
      conv_case("WinogradPixelPaddedByTwo", {16, 1, 1}, 16, {.padding = 2, .relu = true}),
      conv_case("WinogradOddChannels", {21, 5, 9}, 18, {.padding = 1, .relu = true}),
      conv_case("WinogradOddUnpadded", {50, 9, 5}, 20, {}),
      conv_case("WinogradFirst", {18, 7, 7}, 23, {.padding = 1, .relu = true, .first = true}),
      conv_case("WinogradFiltersInBlocks", {129, 1, 5}, 131, {.padding = 1}),
      conv_case("WinogradManyOutputs", {16, 3, 3}, 150, {.padding = 1}),
      conv_case("WinogradManyInputs", {270, 1, 3}, 33, {.padding = 1, .relu = true}),
      conv_case("WinogradAllInputsAtOnce", {270, 1, 12}, 250, {.padding = 1}),
  };
  for (OpCase& each : cases) {
    each.winograd = true;
    each.tolerance = 4e-6;
  }
  return cases;
}

/// Depthwise convolutions.
inline std::vector<OpCase> depthwise_cases() {
  return {
      conv_case("Depthwise", {12, 9, 10}, 12, {.padding = 1, .groups = 12, .bias = false}),
      conv_case("DepthwiseStrided", {7, 9, 10}, 7, {.stride = 2, .padding = 1, .groups = 7, .relu = true}),
      conv_case("DepthwiseFive", {5, 11, 8}, 5, {.kernel = 5, .padding = 2, .groups = 5, .bias = false}),
      conv_case("DepthwiseFiveStrided", {3, 12, 13}, 3,
                {.kernel = 5, .stride = 2, .padding = 2, .groups = 3, .bias = false}),
      conv_case("DepthwiseDilated", {3, 31, 29}, 3,
                {.kernel = 5, .stride = 3, .padding = 1, .dilation = 2, .groups = 3, .relu = true}),
      conv_case("DepthwiseBands", {2, 40, 130}, 2, {.padding = 1, .groups = 2, .relu = true}),
      conv_case("DepthwisePixel", {2, 1, 1}, 2, {.stride = 2, .padding = 1, .groups = 2}),
      conv_case("DepthwiseWide", {24, 9, 10}, 24, {.padding = 1, .groups = 24}),
      conv_case("DepthwiseWideStrided", {40, 8, 11}, 40,
                {.stride = 2, .padding = 1, .groups = 40, .bias = false}),
      conv_case("DepthwiseOfSeven", {9, 10, 8}, 9, {.kernel = 7, .padding = 3, .groups = 9, .bias = false}),
      conv_case("DepthwiseDilatedByTwo", {9, 12, 11}, 9, {.padding = 2, .dilation = 2, .groups = 9}),
      conv_case("DepthwiseOfOnePadded", {3, 5, 6}, 3, {.kernel = 1, .padding = 1, .groups = 3}),
      conv_case("DepthwiseSeven", {4, 7, 7}, 4, {.padding = 1, .groups = 4, .bias = false, .first = true}),
  };
}

/// Convolutions whose channels, pixels or weights exceed one block.
inline std::vector<OpCase> blocked_cases() {
  return {
      conv_case("Grouped", {8, 7, 9}, 16, {.padding = 1, .groups = 4, .bias = false}),
      conv_case("GroupedStrided", {12, 9, 8}, 24, {.stride = 2, .padding = 1, .groups = 2, .relu = true}),
      conv_case("GroupedDilated", {10, 12, 12}, 10, {.padding = 4, .dilation = 4, .groups = 5, .relu = true}),
      conv_case("GroupedToMore", {10, 5, 30}, 20, {.kernel = 2, .groups = 10, .bias = false}),
      conv_case("Dilated", {6, 9, 9}, 8, {.padding = 2, .dilation = 2, .bias = false}),
      conv_case("DilatedStrided", {6, 15, 14}, 8, {.stride = 2, .padding = 3, .dilation = 3, .relu = true}),
      conv_case("WithoutBias", {3, 9, 11}, 7, {.kernel = 2, .bias = false}),
      conv_case("WithoutBiasRelu", {16, 7, 7}, 16, {.padding = 1, .bias = false, .relu = true}),
      conv_case("WithoutBiasPooled", {3, 8, 9}, 9, {.padding = 1, .bias = false, .relu = true, .pool = 2}),
      conv_case("WithoutBiasPooledByThree", {3, 8, 9}, 5,
                {.kernel = 2, .padding = 1, .bias = false, .relu = true, .pool = 3}),
      conv_case("OneByOneManyInputs", {300, 5, 5}, 41, {.kernel = 1, .bias = false}),
      conv_case("OneByOneManyOutputs", {37, 5, 7}, 301, {.kernel = 1, .relu = true}),
      conv_case("OneByOneDeep", {800, 1, 2}, 400, {.kernel = 1, .bias = false}),
      conv_case("OneByOneOfFewPixels", {96, 3, 3}, 40, {.kernel = 1, .relu = true}),
      conv_case("OneByOneOfManyWeights", {1504, 1, 1}, 1408, {.kernel = 1, .bias = false}),
      conv_case("OneByOneGroupsOfFewPixels", {64, 1, 2}, 8, {.kernel = 1, .groups = 2, .bias = false}),
      conv_case("OneByOneLong", {4, 30, 31}, 9, {.kernel = 1}),
      conv_case("OneByOneLongWithRelu", {4, 12, 13}, 9, {.kernel = 1, .relu = true}),
      conv_case("OneByOneTo400", {8, 9, 9}, 400, {.kernel = 1, .bias = false}),
      conv_case("OneByOneStridedRow", {4, 1, 20}, 9, {.kernel = 1, .stride = 2}),
      conv_case("OneByOneStridedToAPixel", {4, 2, 2}, 9, {.kernel = 1, .stride = 2}),
      conv_case("OneByOneStrided", {34, 9, 8}, 70, {.kernel = 1, .stride = 2, .bias = false}),
      conv_case("OneByOneStridedToFewer", {70, 8, 9}, 34, {.kernel = 1, .stride = 2, .bias = false}),
      conv_case("StridedMany", {40, 13, 13}, 44, {.stride = 2, .padding = 1, .bias = false}),
      conv_case("StridedWide", {3, 3, 130}, 6, {.stride = 2}),
      conv_case("StridedEven", {17, 8, 8}, 9, {.stride = 2, .padding = 1, .bias = false}),
      conv_case("StridedSevenFirst", {3, 30, 31}, 20,
                {.kernel = 7, .stride = 2, .padding = 3, .bias = false, .first = true}),
      conv_case("StridedPixel", {2, 1, 1}, 2, {.stride = 2, .padding = 1}),
      conv_case("OneByOneTiles", {32, 6, 6}, 48, {.kernel = 1}),
      conv_case("OneByOnePlanes", {40, 8, 8}, 400, {.kernel = 1, .bias = false}),
      conv_case("OneByOnePixels", {16, 15, 15}, 17, {.kernel = 1, .bias = false}),
      conv_case("OneByOneFirst", {33, 3, 5}, 16, {.kernel = 1, .first = true}),
      conv_case("DilatedMany", {17, 7, 9}, 18, {.padding = 2, .dilation = 2}),
      conv_case("StridedDeep", {128, 3, 2}, 1000, {.stride = 2, .padding = 1, .bias = false}),
      conv_case("StridedAboveKernel", {16, 9, 8}, 16, {.kernel = 2, .stride = 3, .bias = false}),
  };
}

/// All operations, with sizes that are multiples of the blocks and sizes that are not.
inline std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases{
      conv_case("LenetFirst", {1, 26, 26}, 20, {.kernel = 3, .relu = true, .pool = 2, .first = true}),
      conv_case("LenetSecond", {20, 12, 12}, 50, {.kernel = 5, .relu = true, .pool = 2}),
      conv_case("FirstWithoutEpilogue", {3, 9, 11}, 7, {.kernel = 3, .first = true}),
      conv_case("FirstPadded", {3, 8, 8}, 10, {.padding = 1, .relu = true, .first = true}),
      conv_case("FirstWide", {2, 5, 70}, 4, {.relu = true, .pool = 3, .first = true}),
      conv_case("Padded", {4, 7, 7}, 6, {.padding = 1, .relu = true}),
      conv_case("PaddedPooled", {3, 8, 9}, 9, {.padding = 1, .relu = true, .pool = 2}),
      conv_case("PooledWithoutRelu", {2, 9, 9}, 3, {.pool = 2}),
      conv_case("PooledByThree", {2, 13, 12}, 5, {.kernel = 2, .relu = true, .pool = 3}),
      conv_case("PooledByForty", {1, 41, 41}, 2, {.kernel = 2, .pool = 40}),
      conv_case("Strided", {5, 17, 15}, 8, {.stride = 2, .padding = 1, .relu = true}),
      conv_case("StridedOne", {6, 8, 8}, 5, {.kernel = 1, .stride = 2}),
      conv_case("StridedSeven", {3, 21, 21}, 4, {.kernel = 7, .stride = 2, .padding = 3, .relu = true}),
      conv_case("StridedByThree", {2, 14, 13}, 4, {.kernel = 3, .stride = 3, .relu = true}),
      conv_case("StrideAboveKernel", {2, 13, 13}, 3, {.kernel = 2, .stride = 4}),
      conv_case("OneByOne", {10, 6, 5}, 13, {.kernel = 1}),
      conv_case("OneByOneRelu", {7, 9, 8}, 4, {.kernel = 1, .relu = true}),
      conv_case("OneByOnePooled", {3, 4, 6}, 4, {.kernel = 1, .relu = true, .pool = 2}),
      conv_case("OneByOnePadded", {3, 4, 4}, 2, {.kernel = 1, .padding = 1}),
      conv_case("Seven", {2, 9, 16}, 3, {.kernel = 7}),
      conv_case("Four", {3, 9, 9}, 5, {.kernel = 4, .padding = 2, .relu = true}),
      conv_case("Eleven", {2, 12, 13}, 3, {.kernel = 11}),
      conv_case("SinglePixel", {1, 1, 1}, 1, {.kernel = 1}),
      conv_case("PixelPadded", {1, 1, 1}, 1, {.kernel = 3, .padding = 1, .relu = true}),
      conv_case("KernelIsImage", {4, 5, 5}, 6, {.kernel = 5, .relu = true}),
      conv_case("Deep", {70, 4, 4}, 9, {.kernel = 3, .padding = 1}),
      simple_case("Linear", Linear{.features = 11}, {{37, 1, 1}}),
      simple_case("LinearRelu", Linear{.features = 10}, {{128, 1, 1}}, true),
      simple_case("LinearOne", Linear{.features = 1}, {{1, 1, 1}}),
      simple_case("LinearWide", Linear{.features = 33}, {{100, 1, 1}}, true),
      simple_case("LinearOfEights", Linear{.features = 24}, {{64, 1, 1}}, true),
      simple_case("LinearWithoutBias", Linear{.features = 11, .bias = false}, {{37, 1, 1}}),
      activation_case("Relu", Activation::Kind::relu, 1),
      activation_case("Relu6", Activation::Kind::relu6, 9),
      activation_case("Silu", Activation::Kind::silu, 20),
      activation_case("Gelu", Activation::Kind::gelu, 8),
      norm_case("BatchNorm", {3, 5, 4}, {}),
      norm_case("BatchNormRelu", {7, 3, 3}, {.relu = true}),
      norm_case("BatchNormRelu6", {2, 9, 1}, {.relu6 = true}),
      norm_case("BatchNormAdd", {3, 4, 4}, {.add = true}),
      norm_case("BatchNormAddRelu", {5, 7, 7}, {.add = true, .relu = true}),
      simple_case("GroupNorm", GroupNorm{.groups = 2}, {{6, 5, 4}}),
      simple_case("GroupNormOfEach", GroupNorm{.groups = 9}, {{9, 3, 3}}),
      simple_case("GroupNormOfAll", GroupNorm{.groups = 1, .eps = 0.01}, {{20, 7, 2}}),
      simple_case("GroupNormOfVectors", GroupNorm{.groups = 4}, {{36, 1, 1}}),
      simple_case("GroupNormLarge", GroupNorm{.groups = 2}, {{16, 14, 9}}),
      simple_case("MaxPool", MaxPool2d{.kernel = 2, .stride = 2}, {{3, 7, 6}}),
      simple_case("MaxPoolPadded", MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}, {{2, 8, 9}}),
      simple_case("MaxPoolCeil", MaxPool2d{.kernel = 2, .stride = 2, .ceil_mode = true}, {{2, 5, 7}}),
      simple_case("AvgPoolPadded", AvgPool2d{.kernel = 3, .stride = 2, .padding = 1}, {{2, 8, 9}}),
      simple_case(
          "AvgPoolCeil",
          AvgPool2d{.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false},
          {{2, 8, 6}}),
      simple_case("GlobalPool", AdaptiveAvgPool2d{}, {{5, 4, 3}}),
      simple_case("AdaptivePool", AdaptiveAvgPool2d{.size = 3}, {{2, 7, 8}}),
      simple_case("AdaptivePoolLarger", AdaptiveAvgPool2d{.size = 4}, {{2, 3, 2}}),
      concat_case("Concat", {{2, 3, 4}, {5, 3, 4}}),
      concat_case("ConcatFour", {{1, 2, 2}, {3, 2, 2}, {2, 2, 2}, {4, 2, 2}}),
      simple_case("AvgPool", AvgPool2d{.kernel = 2, .stride = 2}, {{3, 7, 6}}),
      simple_case("AvgPoolOverlapping", AvgPool2d{.kernel = 3, .stride = 2}, {{2, 8, 9}}),
      simple_case("AvgPoolSparse", AvgPool2d{.kernel = 2, .stride = 3}, {{2, 8, 9}}),
      simple_case("Flatten", Flatten{}, {{3, 2, 4}}),
      simple_case("Add", Add{}, {{3, 4, 5}, {3, 4, 5}}),
  };
  for (const int width : {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 14, 15, 33, 40}) {
    cases.push_back(conv_case("Width" + std::to_string(width), {2, 3, width}, 5, {.padding = 1}));
  }
  for (const int channels : {1, 2, 3, 4, 6, 7, 8, 9, 12}) {
    cases.push_back(
        conv_case("Channels" + std::to_string(channels), {channels, 6, 6}, channels, {.relu = true}));
  }
  for (const std::vector<OpCase>& more : {depthwise_cases(), blocked_cases(), winograd_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  OpCase larger = conv_case("InputLargerThanRead", {2, 8, 8}, 3, {.kernel = 1});
  larger.node.shape = {3, 6, 5};
  cases.push_back(larger);
  return cases;
}

}  // namespace lockstep::test
