#include "comm/transports/sums_in_rounds.h"

#include <algorithm>
#include <utility>

namespace lockstep {

std::size_t ChunkLimits::chunk(std::size_t inputs) const {
  constexpr std::size_t unit = 16;
  return std::clamp(staging / std::max<std::size_t>(inputs, 1) / unit * unit, smallest, largest);
}

SumsInRounds::SumsInRounds(std::size_t rank, SumLayout layout, std::size_t chunk)
    : rank_(rank), layout_(std::move(layout)), chunk_(std::max<std::size_t>(chunk, 1)) {
  std::size_t rounds = 0;
  for (std::size_t i = 1; i < layout_.slices.size(); ++i) {
    rounds = std::max(rounds, (layout_.slices[i] - layout_.slices[i - 1] + chunk_ - 1) / chunk_);
  }
  inputs_.resize(rounds);
}

std::size_t SumsInRounds::begin(std::size_t owner, std::size_t round) const {
  return std::min(layout_.slices[owner] + round * chunk_, layout_.slices[owner + 1]);
}

std::size_t SumsInRounds::length(std::size_t owner, std::size_t round) const {
  return begin(owner, round + 1) - begin(owner, round);
}

std::optional<SumChunk> SumsInRounds::next(Stream& stream) {
  while (next_ < rounds()) {
    const std::size_t round = next_++;
    record_round(stream, round);
    if (length(rank_, round) > 0)
      return SumChunk{begin(rank_, round), begin(rank_, round + 1), inputs_[round]};
  }
  if (std::exchange(next_, 0) > 0) end(stream);
  return std::nullopt;
}

SumsInPlace::SumsInPlace(std::size_t rank, const Slices& slices, std::size_t chunk,
                         const std::vector<const float*>& partials, std::function<void(Stream&)> meet)
    : SumsInRounds(rank, {.own = {}, .counts = {}, .slices = slices}, chunk), meet_(std::move(meet)) {
  for (std::size_t round = 0; round < rounds(); ++round) {
    for (const float* partial : partials) inputs(round).push_back(partial + begin(rank, round));
  }
}

void SumsInPlace::record_round(Stream& stream, std::size_t round) {
  if (round == 0) meet_(stream);
}

Routes routes_to_all(std::size_t rank, std::size_t size) {
  Routes routes;
  for (std::size_t peer = 0; peer < size; ++peer) routes.sources.push_back(peer);
  for (std::size_t step = 1; step < size; ++step) routes.owners.push_back((rank + step) % size);
  return routes;
}

RoutedSums::RoutedSums(std::size_t rank, SumLayout layout, Routes routes, std::size_t chunk)
    : SumsInRounds(rank, std::move(layout), chunk), routes_(std::move(routes)) {}

std::size_t RoutedSums::arrival_stride() const {
  return std::min(chunk(), whole_lines(layout_.slices[rank_ + 1] - layout_.slices[rank_]));
}

void RoutedSums::place_inputs(std::size_t round, float* memory) {
  for (std::size_t source = 0; source < routes_.sources.size(); ++source) {
    for (std::size_t i = 0; i < layout_.counts[source]; ++i) {
      if (routes_.sources[source] == rank_) {
        inputs(round).push_back(layout_.own[i] + begin(rank_, round));
      } else {
        inputs(round).push_back(memory);
        memory += arrival_stride();
      }
    }
  }
}

}  // namespace lockstep
