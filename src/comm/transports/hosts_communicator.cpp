#include "comm/transports/hosts_communicator.h"

#include "comm/transports/messages.h"

namespace lockstep {
namespace {

/// Routes between the hosts: partial sums of a host go to the owner of a slice from the rank that has the
/// slice as its share.
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

class HostsCommunicator final : public Communicator {
 public:
  HostsCommunicator(const MpiGroup& world, Watch& watch, const HostRanks& hosts,
                    std::unique_ptr<Communicator> within)
      : messages_(world, watch),
        routes_(routes_between_hosts(hosts, messages_.rank(), messages_.size())),
        within_(std::move(within)),
        parts_{.hosts = hosts,
               .within = *within_,
               .plan_sum_of_hosts =
                   [this](SumLayout layout) {
                     return plan_message_sums(messages_, std::move(layout), routes_);
                   }},
        without_sharing_(make_message_communicator(world, watch)) {}

  int rank() const override { return without_sharing_->rank(); }
  int size() const override { return without_sharing_->size(); }
  std::string name() const override { return "shared memory and messages"; }

  std::vector<Buffer> shared_arenas(std::size_t count, std::size_t elements) override {
    return within_->shared_arenas(count, elements);
  }
  Buffer common_arena(std::size_t elements) override { return within_->common_arena(elements); }

  const HostParts* host_parts() const override { return &parts_; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return without_sharing_->plan_sum(std::move(layout));
  }
  /// Sends each owner's part to one rank of every other host, which passes it on within its host.
  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    std::vector<Gather> gathers{plan_message_gather(messages_, all, bounds, routes_)};
    for (std::size_t host = 0; host < parts_.hosts.hosts(); ++host) {
      gathers.push_back(within_->plan_gather(all, parts_.hosts.shares(bounds, host)));
    }
    return [gathers = std::move(gathers)](Stream& stream) {
      for (const Gather& gather : gathers) gather(stream);
    };
  }
  AllReduce plan_all_reduce(std::span<float> values) override {
    return without_sharing_->plan_all_reduce(values);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    without_sharing_->all_gather_bytes(own, bytes, all);
  }
  void barrier() override { without_sharing_->barrier(); }

 private:
  Messages messages_;
  Routes routes_;
  std::unique_ptr<Communicator> within_;
  HostParts parts_;
  std::unique_ptr<Communicator> without_sharing_;
};

}  // namespace

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
