#include "cli/inspect/inspect_checkpoint.h"

#include <fmt/format.h>

#include <string>

#include "cli/find_checkpoints.h"
#include "cli/output.h"
#include "core/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

void print_facts(const char* title, const Facts& facts) {
  if (facts.empty()) return;
  print(fmt::format("{}\n", title));
  for (const auto& [name, text] : facts) {
    print(without_control_characters(fmt::format("  {} = {}", name, text)) + "\n");
  }
}

/// Reads the whole checkpoint. Returns its line of inspect --verify.
std::string verify(const std::filesystem::path& path) {
  const Checkpoint checkpoint = read_checkpoint(path);
  return fmt::format("{}: good, step {}, {} + {} tensors\n", path.string(), checkpoint.state.step,
                     checkpoint.model.tensors().size(), checkpoint.optimizer.tensors().size());
}

}  // namespace

void print_state(const CheckpointState& state) {
  print(fmt::format("step {}, epoch {}\n", state.step, state.epoch));
  print_facts("progress", state.progress);
  print_facts("options that decide the result", state.options);
  print_facts("network and data", state.identity);
  print_facts("fingerprint", state.fingerprint);
  if (!state.engines.empty()) print(fmt::format("choices of cuDNN: {} bytes\n", state.engines.size()));
}

void verify_checkpoints(const std::filesystem::path& path) {
  const auto checkpoints = find_checkpoints(path);
  std::size_t damaged = 0;
  for (const auto& checkpoint : checkpoints) {
    try {
      print(verify(checkpoint));
    } catch (const Error& error) {
      if (checkpoints.size() == 1) throw;
      print(without_control_characters(fmt::format("{}: BAD: {}", checkpoint.string(), error.what())) + "\n");
      ++damaged;
    }
  }
  if (damaged != 0) {
    throw Error(Category::data, fmt::format("{}: {} of {} checkpoints cannot be used", path.string(), damaged,
                                            checkpoints.size()));
  }
}

}  // namespace lockstep
