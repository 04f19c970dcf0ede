// The graph computes only the leading rows and columns of a layer that others read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "onnx/logits.h"
#include "onnx/random_model.h"
#include "ops/op_case.h"

namespace lockstep::test {
namespace {

/// The outputs of the operation and a pooling that leaves its last row unread; with `read_all`, they are
/// followed by all outputs of the operation, so that another layer reads its last row.
std::vector<float> pooled(const OpCase& op_case, bool read_all) {
  Network network(op_case.inputs[0]);
  const Value all = add_to(network, op_case);
  const int height = all.shape().height;
  const Value pool = flatten(avg_pool2d(all, {.kernel = 1 + height % 2, .stride = 2}));
  network.output(read_all ? concat({pool, flatten(all)}) : pool);
  Synthetic images(1, network.input_shape(), network.classes());
  images.change = [](std::uint64_t, std::vector<std::uint8_t>& bytes) {  // those of both networks alike
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

INSTANTIATE_TEST_SUITE_P(Table, UnreadPixels, testing::ValuesIn(image_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace lockstep::test
