#pragma once

#include <string>
#include <vector>

#include "core/json/members.h"
#include "lockstep/world.h"

namespace lockstep {

/// Consecutive ranks of one host that compute on equal devices.
struct RankGroup {
  int first = 0;  ///< number of the first one
  int ranks = 0;
  std::string host;
  std::string device;  ///< of each rank: "8 threads, avx512"
};
LOCKSTEP_MEMBERS(RankGroup, first, ranks, host, device)

/// The ranks of a world in their order. `device`: that of this rank, in words; texts are cut off after 255
/// characters. Collective.
std::vector<RankGroup> map_ranks(const World& world, const std::string& device);

/// "ranks 0 to 3 on a: 8 threads, avx512 each"
std::string text_of(const RankGroup& group);

}  // namespace lockstep
