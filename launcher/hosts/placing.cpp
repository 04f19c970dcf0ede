#include "hosts/placing.h"

#include <algorithm>

#include "core/printable.h"
#include "lockstep/error.h"

namespace lockstep::launcher {
namespace {

int count_slots(const std::vector<MpirunOptions::Host>& hosts) {
  int slots = 0;
  for (const MpirunOptions::Host& host : hosts) slots += host.slots;
  return slots;
}

}  // namespace

void fill_slots(std::vector<MpirunOptions::Host>& hosts, int ranks, const std::vector<int>& defaults) {
  auto open = static_cast<int>(std::ranges::count(hosts, 0, &MpirunOptions::Host::slots));
  int left = ranks - count_slots(hosts);
  if (ranks > 0 && open == 0 && left > 0) {
    throw Error(Category::usage, counted(ranks, "rank") + " on hosts with " + counted(ranks - left, "slot") +
                                     ": write the number of ranks after each host, as in --hosts a:4,b:4");
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].slots > 0) continue;
    hosts[i].slots = std::max(1, ranks > 0 ? (left + open - 1) / open : defaults[i]);
    left -= hosts[i].slots;
    --open;
  }
}

std::vector<int> ranks_of_hosts(const std::vector<MpirunOptions::Host>& hosts, int ranks) {
  std::vector<int> counts;
  int left = ranks > 0 ? ranks : count_slots(hosts);
  for (const MpirunOptions::Host& host : hosts) {
    counts.push_back(std::min(left, host.slots));
    left -= counts.back();
  }
  return counts;
}

}  // namespace lockstep::launcher
