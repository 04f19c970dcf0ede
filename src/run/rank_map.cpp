#include "run/rank_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace lockstep {
namespace {

/// Message of a rank to all others.
struct RankTexts {
  char host[256] = "";
  char device[256] = "";
};

template <std::size_t size>
void copy_text(const std::string& text, char (&target)[size]) {
  std::memcpy(target, text.data(), std::min(text.size(), size - 1));
}

}  // namespace

std::vector<RankGroup> map_ranks(const World& world, const std::string& device) {
  RankTexts own;
  copy_text(world.host(), own.host);
  copy_text(device, own.device);
  const std::vector<std::byte> all = world.all_gather(std::as_bytes(std::span(&own, 1)));
  const std::vector<int>& boundaries = world.host_boundaries();
  std::vector<RankGroup> groups;
  for (int rank = 0; rank < world.size(); ++rank) {
    RankTexts texts;
    std::memcpy(&texts, all.data() + static_cast<std::size_t>(rank) * sizeof texts, sizeof texts);
    const bool begins_host = std::ranges::binary_search(boundaries, rank);
    if (begins_host || groups.back().device != texts.device) {
      groups.push_back({.first = rank, .host = texts.host, .device = texts.device});
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
