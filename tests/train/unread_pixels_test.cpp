// The graph computes only those leading rows and columns of a layer that other layers read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "onnx/logits.h"
#include "onnx/random_model.h"
#include "ops/op_case.h"
#include "ops/run_network.h"

namespace lockstep::test {
namespace {

/// Outputs of the operation followed by a pooling that does not read its last row. With `read_all`, all
/// outputs of the operation are appended, so that another layer reads the last row.
std::vector<float> pooled(const OpCase& op_case, bool read_all) {
  Network network(op_case.inputs[0]);
  const Value all = add_to(network, op_case);
  const int height = all.shape().height;
  const Value pool = flatten(avg_pool2d(all, {.kernel = 1 + height % 2, .stride = 2}));
  network.output(read_all ? concat({pool, flatten(all)}) : pool);
  Synthetic images(1, network.input_shape(), network.classes());
  images.change = [](std::uint64_t, std::vector<std::uint8_t>& bytes) {  // the same bytes for both networks
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * i * 37 % 251);
  };
  const double scale = 0.5 / op_case.range;
  return logits_of(network, random_model(network), images, {.mean = {0.5}, .deviation = {scale}});
}

class UnreadPixels : public testing::TestWithParam<OpCase> {};

TEST_P(UnreadPixels, ChangeNoOthers) {
  const std::vector<float> cropped = pooled(GetParam(), false), whole = pooled(GetParam(), true);
  ASSERT_LT(cropped.size(), whole.size());
  float largest = 1.0F;
  for (std::size_t i = 0; i < cropped.size(); ++i) largest = std::max(largest, std::abs(whole[i]));
  for (std::size_t i = 0; i < cropped.size(); ++i) EXPECT_NEAR(cropped[i], whole[i], 1e-5F * largest) << i;
}

/// All operations that have images as outputs.
std::vector<OpCase> image_cases() {
  std::vector<OpCase> cases;
  for (const OpCase& each : op_cases()) {
    Network network(each.inputs[0]);
    const Shape shape = add_to(network, each).shape();
    if (shape.height > 1 && shape.width > 1) cases.push_back(each);
  }
  return cases;
}

/// Gradients of a convolution with 8 input channels and of the layers around it. A pooling does not read the
/// convolution's last column, while another layer reads its whole input. With `read_all`, a layer of zeros
/// reads all its outputs.
std::vector<float> gradients_around(const Conv2d& convolution, int height, int width, bool read_all) {
  Network network({2, height, width});
  const Value stem = conv2d(network.input(), {.channels = 8});
  const Value all = conv2d(stem, convolution);
  const Value pool = max_pool2d(all, {.kernel = 1, .stride = 3});
  Value logits = linear(concat({flatten(pool), flatten(stem)}), 5);
  const ArenaLayout compared = layout_arena(network.parameters());
  if (read_all) {
    const Linear zeros{.features = 5, .bias = false, .weight = Initializer::zeros()};
    logits = logits + linear(flatten(all), zeros);
  }
  network.output(logits);
  std::vector<float> gradients =
      run_on_cpu(network, {.samples = 17}, NetworkInputs(network, 17, 3), first_parameters(network))
          .gradients;
  gradients.resize(compared.elements);
  return gradients;
}

TEST(UnreadPixelsOfConvolutions, ChangeNoGradients) {
  const std::vector<Conv2d> convolutions = {{.channels = 16},  // one kernel computes both gradients
                                            {.channels = 4},
                                            {.channels = 16, .kernel = 3, .padding = 1}};
  for (const Conv2d& convolution : convolutions) {
    for (const int height : {1, 11}) {
      const std::vector<float> cropped = gradients_around(convolution, height, 17, false);
      const std::vector<float> whole = gradients_around(convolution, height, 17, true);
      const float largest = std::abs(std::ranges::max(whole, {}, [](float v) { return std::abs(v); }));
      for (std::size_t i = 0; i < cropped.size(); ++i) {
        ASSERT_NEAR(cropped[i], whole[i], 2e-5F * largest)
            << convolution.channels << " channels, height " << height << ", element " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, UnreadPixels, testing::ValuesIn(image_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace lockstep::test
