#include "train/checkpoints/state_tensors.h"

#include <string_view>

namespace lockstep {

std::vector<StateTensor> state_tensors(const NamedArena& arena, const Run& run) {
  constexpr std::string_view of_optimizer = "optimizer.";
  const bool state = arena.name.starts_with(of_optimizer);
  const std::string prefix = state ? arena.name.substr(of_optimizer.size()) : arena.name;
  std::vector<StateTensor> tensors;
  const std::vector<Parameter>& parameters = run.network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (state && !parameters[i].trained()) continue;
    tensors.push_back({.name = prefix + "." + parameters[i].name,
                       .parameter = &parameters[i],
                       .offset = run.layout.offsets[i]});
  }
  return tensors;
}

}  // namespace lockstep
