#include <algorithm>
#include <atomic>

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

/// Consecutive values of one parameter, few enough that all threads finish at about the same time.
struct Piece {
  static constexpr std::size_t most_values = 65536;  // one to two milliseconds of draws
  std::size_t parameter = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

std::vector<Piece> pieces_of(const std::vector<Parameter>& parameters) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t first = 0; first < parameters[i].size(); first += Piece::most_values) {
      pieces.push_back({i, first, std::min(first + Piece::most_values, parameters[i].size())});
    }
  }
  return pieces;
}

void initialize(const Piece& piece, const Initializer& initializer, std::uint64_t seed, float* values) {
  if (initializer.kind == Initializer::Kind::zeros || initializer.kind == Initializer::Kind::ones) {
    const float value = initializer.kind == Initializer::Kind::ones ? 1.0F : 0.0F;
    return std::fill(values + piece.first, values + piece.last, value);
  }
  for (std::size_t element = piece.first; element < piece.last; ++element) {
    values[element] = draw(initializer, seed, static_cast<std::uint32_t>(piece.parameter), element);
  }
}

}  // namespace

void initialize_parameters(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                           std::uint64_t seed, float* arena,
                           const std::function<void(const std::function<void()>& work)>& on_threads) {
  const std::vector<Piece> pieces = pieces_of(parameters);
  std::atomic<std::size_t> next = 0;
  on_threads([&] {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      const std::size_t parameter = pieces[i].parameter;
      initialize(pieces[i], parameters[parameter].initializer, seed, arena + layout.offsets[parameter]);
    }
  });
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::fill(arena + layout.offsets[i] + parameters[i].size(), arena + layout.end_of(i), 0.0F);
  }
}

}  // namespace lockstep
