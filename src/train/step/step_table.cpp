#include "train/step/step_table.h"

#include <algorithm>

namespace lockstep {

StepTable::StepTable(Device& device, std::size_t steps, bool stops)
    : device_(device),
      capacity_(steps),
      stops_(stops),
      block_(device.allocate(outcomes_at() + steps * sizeof(StepOutcome))),
      host_block_(device.mirror(block_)) {
  if (host_block_.data() == block_.data()) return;
  Stream& stream = *device.streams()[0];
  send_ = device.record(
      [this, &stream] { device_.copy(stream, block_.data(), host_block_.data(), outcomes_at()); });
  fetch_ = device.record([this, &stream] {
    device_.copy(stream, host_block_.data() + outcomes_at(), block_.data() + outcomes_at(),
                 block_.bytes() - outcomes_at());
  });
}

StepLog StepTable::log() const { return {block_.as<StepInput>(), outcomes(block_), positions()}; }

StepLog StepTable::concluded() const { return {block_.as<StepInput>(), outcomes(block_), positions() + 1}; }

std::uint32_t* StepTable::positions() const { return positions(block_); }

void StepTable::begin(std::span<const StepInput> inputs) {
  if (in_progress_ && send_) device_.copy(nullptr, nullptr, 0);  // waits: the host's block may be in use
  in_progress_ = true;
  std::ranges::copy(inputs, host_block_.as<StepInput>());
  std::fill_n(positions(host_block_), 2, 0U);
  if (send_) send_->run();
}

std::span<const StepOutcome> StepTable::fetch(std::size_t steps) {
  if (fetch_) {
    fetch_->run();
    device_.copy(nullptr, nullptr, 0);  // waits
  }
  in_progress_ = false;
  return {outcomes(host_block_), steps};
}

}  // namespace lockstep
