#include "train/session/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/text/message.h"
#include "core/text/printable.h"
#include "device/cuda_probe.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

static_assert(std::is_trivially_copyable_v<RankFacts>, "facts travel as bytes");

using Gpu = std::pair<std::uint32_t, std::string>;  // number of the host, PCI address

Gpu gpu_of(const RankFacts& rank) { return {rank.host_number, rank.gpu.text()}; }

/// Ranks of one host that request a GPU or may use one, and the GPUs that they would take.
struct HostDemand {
  std::size_t ranks = 0;
  std::size_t first = 0;  ///< the lowest of these ranks
  std::set<std::string> gpus;
};

HostDemand demand_on(const Roster& roster, std::uint32_t host) {
  HostDemand demand;
  for (std::size_t i = 0; i < roster.ranks.size(); ++i) {
    const RankFacts& rank = roster.ranks[i];
    if (rank.host_number != host || rank.device == DeviceKind::cpu) continue;
    if (demand.ranks++ == 0) demand.first = i;
    if (!rank.gpu.empty()) demand.gpus.insert(rank.gpu.text());
  }
  return demand;
}

/// Device of the ranks that request DeviceKind::automatic.
DeviceKind resolve_automatic(const Roster& roster, Transport transport, std::vector<std::string>& warnings) {
  const auto left_open = [](const RankFacts& rank) { return rank.device == DeviceKind::automatic; };
  if (std::ranges::any_of(roster.ranks,
                          [&](const RankFacts& rank) { return left_open(rank) && rank.gpu.empty(); })) {
    return DeviceKind::cpu;
  }
  if (transport != Transport::automatic) return DeviceKind::cuda;
  std::set<std::uint32_t> hosts;
  for (const RankFacts& rank : roster.ranks) {
    if (left_open(rank)) hosts.insert(rank.host_number);
  }
  DeviceKind resolved = DeviceKind::cuda;
  for (const std::uint32_t host : hosts) {
    const HostDemand demand = demand_on(roster, host);
    if (demand.ranks <= demand.gpus.size()) continue;
    resolved = DeviceKind::cpu;
    if (demand.first != roster.own) continue;
    warnings.push_back(fmt::format(
        "{} has {} and {}: falling back to the CPU; start as many ranks as GPUs, or share them with "
        "--device cuda --transport shared-memory",
        roster.ranks[roster.own].host.text(), counted(demand.ranks, "rank"),
        counted(demand.gpus.size(), "GPU")));
  }
  return resolved;
}

/// Lowest rank before `rank` that computes on the same GPU.
std::optional<std::size_t> shares_gpu_with(const Roster& roster, const std::vector<DeviceKind>& devices,
                                           std::size_t rank) {
  if (devices[rank] != DeviceKind::cuda) return {};
  for (std::size_t other = 0; other < rank; ++other) {
    if (devices[other] == DeviceKind::cuda && gpu_of(roster.ranks[other]) == gpu_of(roster.ranks[rank])) {
      return other;
    }
  }
  return {};
}

/// "GPU 0000:1b:00 of HOST"
std::string describe_gpu(const RankFacts& rank) {
  return fmt::format("GPU {} of {}", rank.gpu.text(), rank.host.text());
}

/// Reason why NCCL cannot connect the ranks; empty if it can.
std::string why_not_nccl(const Roster& roster, const std::vector<DeviceKind>& devices) {
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    if (devices[rank] == DeviceKind::cpu) return fmt::format("rank {} computes on the CPU", rank);
    if (const auto other = shares_gpu_with(roster, devices, rank)) {
      return fmt::format("ranks {} and {} share {}", *other, rank, describe_gpu(roster.ranks[rank]));
    }
  }
  return {};
}

/// Default numbers of steps submitted together: until the time of a step is known, and the maximum after
/// that.
constexpr std::size_t usual_steps = 50, usual_max_steps = 512;

/// Number of steps that a rank on `device` would submit together; `usual`: the number unless the options
/// request one.
std::size_t steps_at_once(DeviceKind device, std::uint64_t asked_for, std::size_t usual) {
  constexpr std::uint64_t max = 1000;
  if (device == DeviceKind::cpu) return 1;
  return asked_for == 0 ? usual : std::min(asked_for, max);
}

/// Number of the host of `rank`.
std::uint32_t host_number(const World& world, int rank) {
  const auto& first = world.host_boundaries();
  return static_cast<std::uint32_t>(std::ranges::upper_bound(first, rank) - first.begin() - 1);
}

RankFacts facts_of_this_rank(const World& world, const ExecutionOptions& execution) {
  RankFacts facts{.host = world.host(),
                  .host_number = host_number(world, world.rank()),
                  .device = execution.device,
                  .steps_at_once = execution.steps_at_once};
  if (facts.device == DeviceKind::cpu) return facts;
  const cuda::Probe found = cuda::probe(cuda::Detail::needed);
  if (const cuda::Obstacle obstacle = cuda::obstacle(found)) {
    facts.why_no_gpu = obstacle.reason + "; " + obstacle.hint;
  } else {  // ranks of a host take its GPUs in turn
    facts.gpu = found.gpus[static_cast<std::size_t>(world.local_rank()) % found.gpus.size()].bus;
  }
  return facts;
}

}  // namespace

Placement place(const Roster& roster, Transport transport, Reduce reduce) {
  const RankFacts& own = roster.ranks[roster.own];
  if (own.device == DeviceKind::cuda && own.gpu.empty()) {
    throw Error(Category::resource, "CUDA is off: " + own.why_no_gpu.text());
  }
  Placement placement;
  const DeviceKind automatic = resolve_automatic(roster, transport, placement.warnings);
  std::vector<DeviceKind> devices;
  for (const RankFacts& rank : roster.ranks) {
    devices.push_back(rank.device == DeviceKind::automatic ? automatic : rank.device);
  }
  const auto other = shares_gpu_with(roster, devices, roster.own);
  if (other && transport == Transport::automatic) {
    throw Error(Category::resource,
                fmt::format("ranks {} and {} have the same {}: start as many ranks on a host as it has GPUs, "
                            "or let them share, which is slow, with --transport shared-memory (on "
                            "several hosts: messages)",
                            *other, roster.own, describe_gpu(own)));
  }
  placement.device = devices[roster.own];
  if (placement.device == DeviceKind::cuda) placement.gpu = own.gpu.text();
  placement.all_cuda = std::ranges::count(devices, DeviceKind::cuda) == std::ssize(devices);
  placement.some_cuda = std::ranges::count(devices, DeviceKind::cuda) > 0;
  if (placement.some_cuda) {
    placement.planner = static_cast<int>(std::ranges::find(devices, DeviceKind::cuda) - devices.begin());
  }
  const std::string reason = why_not_nccl(roster, devices);
  placement.nccl = devices.size() > 1 && reason.empty() && transport == Transport::automatic;
  if (placement.some_cuda && !reason.empty() && roster.own == 0) {
    placement.warnings.push_back(reason + ": gradients travel through the host's memory");
  }
  placement.reduce = reduce;
  placement.whole_sums = placement.reduce == Reduce::ring || (placement.all_cuda && devices.size() > 1);
  const auto least = [&](std::size_t usual) {
    std::size_t steps = std::numeric_limits<std::size_t>::max();
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
      steps = std::min(steps, steps_at_once(devices[rank], roster.ranks[rank].steps_at_once, usual));
    }
    return steps;
  };
  placement.steps_at_once = least(usual_steps);
  placement.max_steps_at_once = least(usual_max_steps);
  return placement;
}

Placement find_placement(const World& world, const ExecutionOptions& execution, Reduce reduce) {
  RankFacts own;
  world.agree([&] { own = facts_of_this_rank(world, execution); });
  const Roster roster{.ranks = gather(world, std::span(&own, 1)),
                      .own = static_cast<std::size_t>(world.rank())};
  Placement placement;
  world.agree([&] { placement = place(roster, execution.transport, reduce); });
  print_warnings(placement.warnings);
  return placement;
}

}  // namespace lockstep
