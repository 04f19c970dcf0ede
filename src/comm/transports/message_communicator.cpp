#include <algorithm>

#include "comm/transports/hosts_communicator.h"
#include "comm/transports/messages.h"

namespace lockstep {
namespace {

class MessageCommunicator : public Communicator {
 public:
  MessageCommunicator(const MpiGroup& world, Watch& watch)
      : messages_(world, watch), routes_(routes_to_all(messages_.rank(), messages_.size())) {}

  int rank() const override { return static_cast<int>(messages_.rank()); }
  int size() const override { return static_cast<int>(messages_.size()); }
  std::string name() const override { return "messages"; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return plan_message_sums(messages_, std::move(layout), routes_);
  }
  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    return plan_message_gather(messages_, all, bounds, routes_);
  }
  AllReduce plan_all_reduce(std::span<float> values) override {
    return plan_mpi_all_reduce(messages_.group(), messages_.watch(), values);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    const InCollective in(messages_.watch(), Collective::all_gather, Group::world, all.size());
    for (std::size_t peer = 0, begin = 0; peer < messages_.size(); begin += bytes[peer++]) {
      const std::span<std::byte> part = all.subspan(begin, bytes[peer]);
      if (peer == messages_.rank()) {
        std::copy(own.begin(), own.end(), part.begin());
      } else {
        messages_.receive(requests_, part, peer);
        messages_.send(requests_, own, peer);
      }
    }
    messages_.complete(requests_);
  }

  void barrier() override {
    const InCollective in(messages_.watch(), Collective::barrier, Group::world);
    check_mpi(MPI_Ibarrier(messages_.group().get(), &requests_.emplace_back()), "MPI_Ibarrier");
    messages_.complete(requests_);
  }

 private:
  Messages messages_;
  Routes routes_;
  std::vector<MPI_Request> requests_;
};

/// Routes between the hosts: on each host, the rank whose share contains a slice sends the host's partial
/// sums to the owner of the slice.
Routes routes_between_hosts(const HostRanks& hosts, std::size_t rank, std::size_t size) {
  Routes routes;
  for (std::size_t host = 0; host < hosts.hosts(); ++host) {
    routes.sources.push_back(hosts.partner(rank, host));
  }
  for (const std::size_t owner : routes_to_all(rank, size).owners) {
    if (hosts.host_of(owner) == hosts.host()) continue;
    if (hosts.partner(owner, hosts.host()) == rank) routes.owners.push_back(owner);
  }
  return routes;
}

/// Messages between hosts, and shared memory within them.
class HostsCommunicator final : public MessageCommunicator {
 public:
  HostsCommunicator(const MpiGroup& world, Watch& watch, const HostRanks& hosts,
                    std::unique_ptr<Communicator> within)
      : MessageCommunicator(world, watch),
        between_hosts_(world, watch),
        host_routes_(routes_between_hosts(hosts, between_hosts_.rank(), between_hosts_.size())),
        within_(std::move(within)),
        parts_{.hosts = hosts, .within = *within_, .plan_sum_of_hosts = [this](SumLayout layout) {
                 return plan_message_sums(between_hosts_, std::move(layout), host_routes_);
               }} {}

  std::string name() const override { return "shared memory and messages"; }

  std::vector<Buffer> shared_arenas(std::size_t count, std::size_t elements) override {
    return within_->shared_arenas(count, elements);
  }
  Buffer common_arena(std::size_t elements) override { return within_->common_arena(elements); }

  const HostParts* host_parts() const override { return &parts_; }

  /// Sends each owner's part to one rank of every other host, which then distributes it within that host.
  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    std::vector<Gather> gathers{plan_message_gather(between_hosts_, all, bounds, host_routes_)};
    for (std::size_t host = 0; host < parts_.hosts.hosts(); ++host) {
      gathers.push_back(within_->plan_gather(all, parts_.hosts.shares(bounds, host)));
    }
    return [gathers = std::move(gathers)](Stream& stream) {
      for (const Gather& gather : gathers) gather(stream);
    };
  }

 private:
  Messages between_hosts_;
  Routes host_routes_;
  std::unique_ptr<Communicator> within_;
  HostParts parts_;
};

}  // namespace

std::unique_ptr<Communicator> make_message_communicator(const MpiGroup& world, Watch& watch) {
  return std::make_unique<MessageCommunicator>(world, watch);
}

std::unique_ptr<Communicator> make_hosts_communicator(const MpiGroup& world, const MpiGroup& host,
                                                      const HostRanks& hosts, Watch& watch) {
  auto within = host.size() == 1 ? make_self_communicator() : make_shared_memory_communicator(host, watch);
  int shares = within != nullptr ? 1 : 0;
  watch.during(Collective::share_memory, Group::world, 0, [&] {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &shares, 1, MPI_INT, MPI_MIN, world.get()), "MPI_Allreduce");
  });
  if (shares == 0) return nullptr;
  return std::make_unique<HostsCommunicator>(world, watch, hosts, std::move(within));
}

}  // namespace lockstep
