#include "train/step/step_table.h"

namespace lockstep {

StepTable::StepTable(Device& device, std::size_t steps, bool stops)
    : device_(device),
      capacity_(steps),
      stops_(stops),
      inputs_(device.allocate(steps * sizeof(StepInput))),
      outcomes_(device.allocate(steps * sizeof(StepOutcome))),
      positions_(device.allocate(2 * sizeof(std::uint32_t))),
      host_outcomes_(steps) {}

StepLog StepTable::log() const { return {inputs_.as<StepInput>(), outcomes_.as<StepOutcome>(), positions()}; }

StepLog StepTable::concluded() const {
  return {inputs_.as<StepInput>(), outcomes_.as<StepOutcome>(), positions() + 1};
}

void StepTable::begin(std::span<const StepInput> inputs) {
  static constexpr std::uint32_t first = 0;
  device_.copy(inputs_.data(), inputs.data(), inputs.size_bytes());
  device_.copy(positions_.data(), &first, sizeof first);
}

std::span<const StepOutcome> StepTable::fetch(std::size_t steps) {
  device_.copy(host_outcomes_.data(), outcomes_.data(), steps * sizeof(StepOutcome));
  return std::span(host_outcomes_).first(steps);
}

}  // namespace lockstep
