#include "train/step/step_table.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "fake_cuda/fake_cuda.h"

namespace lockstep {
namespace {

enum class On { cpu, graphs, no_graphs };

std::unique_ptr<Device> make_device(On on) {
  if (on == On::cpu) return make_cpu_device({.threads = 1, .pin = false});
  return cuda::make_cuda_device(0, on == On::graphs);
}

/// Steps that record the number of their input and return it as their loss.
class StepTables : public testing::TestWithParam<On> {
 protected:
  /// Submits `count` steps, numbered from `first`.
  void submit(std::uint64_t first, std::size_t count) {
    std::vector<StepInput> inputs;
    for (std::size_t i = 0; i < count; ++i) inputs.push_back({.number = first + i});
    table.begin(inputs);
    for (std::size_t i = 0; i < count; ++i) step->run();
  }
  void expect_outcomes(std::uint64_t first, std::size_t count) {
    const std::span<const StepOutcome> outcomes = table.fetch(count);
    ASSERT_EQ(outcomes.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(outcomes[i].loss, static_cast<double>(first + i));
  }
  std::unique_ptr<Program> record_step() {
    Stream& stream = *device->streams()[0];
    const std::function<void()> work = [this] {
      seen.push_back(table.log().input().number);
      table.log().outcome().loss = static_cast<double>(seen.back());
      ++table.positions()[0];
    };
    return device->record([work, &stream] {
      if (GetParam() == On::cpu) {
        stream.call(work, Phase::update);
      } else {
        fake_cuda::launch(cuda::handle_of(stream), "step", {}, work);
      }
    });
  }

  std::unique_ptr<Device> device = make_device(GetParam());
  StepTable table{*device, 4};
  std::vector<std::uint64_t> seen;
  std::unique_ptr<Program> step = record_step();
};
INSTANTIATE_TEST_SUITE_P(Devices, StepTables, testing::Values(On::cpu, On::graphs, On::no_graphs));

TEST_P(StepTables, BringInputsAndOutcomes) {
  submit(1, 4);
  expect_outcomes(1, 4);
  submit(5, 2);
  expect_outcomes(5, 2);
}

TEST_P(StepTables, KeepInputsOfStepsThatWereNotFetched) {
  submit(1, 3);
  submit(7, 1);
  expect_outcomes(7, 1);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3, 7}));
}

}  // namespace
}  // namespace lockstep
