#include "ops/cuda/as_on_cpu.h"

namespace lockstep::testing {
namespace {

using cuda::Type;

TEST(DropoutOnCuda, DropsWhatTheCpuDrops) {
  const std::vector<std::uint64_t> ids = {
      0, 59999, (7ULL << 32) + 3, 12, 13, 14, 15, 16, 17, 4, 5, 6, 1, 2, 3, 8, 9};
  const RandomKey random{.seed = 0x123456789abcdefULL, .epoch = 4};
  const DeviceMemory ids_on_device = on_device(ids), random_on_device = on_device(std::vector{random});
  OpSurroundings given{.position = 9};
  given.on_cpu.ids = ids.data();
  given.on_cpu.random = &random;
  given.on_cuda.ids = reinterpret_cast<const std::uint64_t*>(ids_on_device.data());
  given.on_cuda.random = reinterpret_cast<const RandomKey*>(random_on_device.data());
  for (const Shape shape : {Shape{1, 1, 1}, {37, 1, 1}, {128, 1, 1}, {5, 3, 4}, {8, 2, 2}, {17, 1, 5}}) {
    const OpCase op_case = simple_case("Dropout", Dropout{.p = 0.3}, shape, shape);
    const OpInputs values = random_inputs(op_case, static_cast<int>(ids.size()));
    for (const Type type : {Type::fp32, Type::bf16}) {
      expect_as_on_cpu(op_case, values.inputs[0], values.grad_output, type, given);
    }
  }
}

TEST(DropoutOnCuda, PassesAllInEvaluation) {
  const OpCase op_case = simple_case("Dropout", Dropout{.p = 0.5}, {5, 2, 3}, {5, 2, 3});
  const OpInputs values = random_inputs(op_case, 3);
  const PaddedTensor output = run_in_evaluation(op_case, values.inputs[0], Type::fp32);
  expect_same(output.values(), values.inputs[0], Type::fp32, "output");
  EXPECT_TRUE(output.padding_is_zero() && output.end_intact());
}

}  // namespace
}  // namespace lockstep::testing
