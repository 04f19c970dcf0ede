#include "comm/communicator.h"

#include "comm/transports/hosts_communicator.h"
#include "comm/world/runtime.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

/// Null if the ranks are on several hosts, or cannot share memory.
std::unique_ptr<Communicator> make_shared_communicator(const World& world) {
  if (world.hosts() > 1) return nullptr;
  return make_shared_memory_communicator(world.runtime().host, *world.runtime().watch);
}

/// Null if no host has several ranks, or if the ranks of a host cannot share memory.
std::unique_ptr<Communicator> make_hosts_communicator(const World& world) {
  if (world.hosts() == 1 || world.hosts() == world.size()) return nullptr;
  const World::Runtime& runtime = world.runtime();
  const HostRanks hosts({world.host_boundaries().begin(), world.host_boundaries().end()},
                        static_cast<std::size_t>(world.rank()));
  return make_hosts_communicator(runtime.ranks.world, runtime.host, hosts, *runtime.watch);
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const World& world, Transport transport) {
  if (world.size() == 1) return make_self_communicator();
  switch (transport) {
    case Transport::automatic:
      if (auto shared = make_shared_communicator(world)) return shared;
      if (auto sharing = make_hosts_communicator(world)) return sharing;
      break;
    case Transport::shared_memory: {
      if (auto shared = make_shared_communicator(world)) return shared;
      const std::string where = world.hosts() > 1
                                    ? "the ranks are on " + std::to_string(world.hosts()) + " hosts"
                                    : "the ranks of host " + world.host() + " cannot share a mapping";
      throw Error(Category::resource, "no shared memory between the ranks: " + where + "; use messages");
    }
    case Transport::messages:
      break;
  }
  return make_message_communicator(world.runtime().ranks.world, *world.runtime().watch);
}

Gather plan_arena_gather(Communicator& communicator, std::span<float> arena, const Slices& slices) {
  std::vector<std::size_t> bounds;
  for (const std::size_t element : slices) bounds.push_back(element * sizeof(float));
  return communicator.plan_gather(std::as_writable_bytes(arena), bounds);
}

std::vector<Buffer> allocate_arenas(Communicator& communicator, Device& device, std::size_t count,
                                    std::size_t elements) {
  std::vector<Buffer> arenas = communicator.shared_arenas(count, elements);
  while (arenas.size() < count) arenas.push_back(device.allocate(elements * sizeof(float)));
  return arenas;
}

}  // namespace lockstep
