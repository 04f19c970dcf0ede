#include "run/rank_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "comm/world/gather.h"

namespace lockstep {
namespace {

/// Texts that a rank sends to all others.
struct RankTexts {
  FixedText<256> host;
  FixedText<256> device;
};

}  // namespace

std::vector<RankGroup> map_ranks(const World& world, const std::string& device) {
  const RankTexts own{world.host(), device};
  const std::vector<RankTexts> all = gather(world, std::span(&own, 1));
  const std::vector<int>& boundaries = world.host_boundaries();
  std::vector<RankGroup> groups;
  for (int rank = 0; rank < world.size(); ++rank) {
    const RankTexts& texts = all[static_cast<std::size_t>(rank)];
    const bool begins_host = std::ranges::binary_search(boundaries, rank);
    if (begins_host || groups.back().device != texts.device.text()) {
      groups.push_back({.first = rank, .host = texts.host.text(), .device = texts.device.text()});
    }
    ++groups.back().ranks;
  }
  return groups;
}

std::string text_of(const RankGroup& group) {
  const std::string ranks = group.ranks == 1
                                ? fmt::format("rank {}", group.first)
                                : fmt::format("ranks {} to {}", group.first, group.first + group.ranks - 1);
  return fmt::format("{} on {}: {}{}", ranks, group.host, group.device, group.ranks == 1 ? "" : " each");
}

}  // namespace lockstep
