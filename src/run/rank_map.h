#pragma once

#include <string>
#include <vector>

#include "core/json/members.h"
#include "lockstep/world.h"

namespace lockstep {

/// Consecutive ranks of one host that compute on equal devices.
struct RankGroup {
  int first = 0;  ///< number of the first rank
  int ranks = 0;
  std::string host;
  std::string device;  ///< device of each rank: "8 threads, avx512"
};
LOCKSTEP_MEMBERS(RankGroup, first, ranks, host, device)

/// Groups of the ranks of `world`, in order. `device`: description of this rank's device; texts are cut off
/// after 255 characters. Collective.
std::vector<RankGroup> map_ranks(const World& world, const std::string& device);

/// "ranks 0 to 3 on a: 8 threads, avx512 each"
std::string text_of(const RankGroup& group);

}  // namespace lockstep
