#include <algorithm>

#include "core/random/normal.h"
#include "core/random/philox.h"
#include "graph/graph.h"

namespace lockstep {

ArenaLayout layout_arena(const std::vector<Parameter>& parameters) {
  constexpr std::size_t unit = 16;
  ArenaLayout layout;
  for (const Parameter& parameter : parameters) {
    layout.offsets.push_back(layout.elements);
    layout.elements += (parameter.size() + unit - 1) / unit * unit;
  }
  return layout;
}

namespace {

float draw(const Initializer& initializer, std::uint64_t seed, std::uint32_t position,
           std::uint64_t element) {
  const auto bits =
      philox(seed, {static_cast<std::uint32_t>(Purpose::parameters), position,
                    static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32)});
  if (initializer.kind == Initializer::Kind::normal) {
    return static_cast<float>(initializer.scale * normal(bits[0], bits[1]));
  }
  return static_cast<float>(initializer.scale * (2.0 * static_cast<double>(uniform(bits[0])) - 1.0));
}

}  // namespace

void initialize_parameters(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                           std::uint64_t seed, float* arena) {
  std::fill_n(arena, layout.elements, 0.0F);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Initializer& initializer = parameters[i].initializer;
    if (initializer.kind == Initializer::Kind::zeros) {
      continue;
    }
    float* values = arena + layout.offsets[i];
    if (initializer.kind == Initializer::Kind::ones) {
      std::fill_n(values, parameters[i].size(), 1.0F);
      continue;
    }
    for (std::size_t element = 0; element < parameters[i].size(); ++element) {
      values[element] = draw(initializer, seed, static_cast<std::uint32_t>(i), element);
    }
  }
}

}  // namespace lockstep
