#include "comm/hosts_communicator.h"

#include "comm/messages.h"
#include "comm/mpi_all_reduce.h"

namespace lockstep {
namespace {

/// Each owner's part goes to one rank of every other host, and from there to the others of the host.
class HostsGather final : public Gather {
 public:
  HostsGather(const HostRanks& hosts, const Peers& peers, Communicator& within, std::span<std::byte> all,
              std::span<const std::size_t> bounds)
      : hosts_(hosts), peers_(peers), all_(all), bounds_(bounds.begin(), bounds.end()), messages_(peers) {
    for (std::size_t host = 0; host < hosts.hosts(); ++host) {
      within_.push_back(within.plan_gather(all, hosts.shares(bounds_, host)));
    }
  }

  void record(Stream& stream) override {
    stream.call([this] { gather_shares(); }, Phase::reduce);
    for (const auto& gather : within_) gather->record(stream);
  }

 private:
  void gather_shares() {
    for (std::size_t owner = 0; owner < peers_.size; ++owner) {
      if (hosts_.host_of(owner) == hosts_.host()) continue;
      if (hosts_.partner(owner, hosts_.host()) == peers_.rank) messages_.receive(part(owner), owner);
    }
    for (std::size_t host = 0; host < hosts_.hosts(); ++host) {
      if (host != hosts_.host()) messages_.send(part(peers_.rank), hosts_.partner(peers_.rank, host));
    }
    messages_.complete();
  }
  std::span<std::byte> part(std::size_t rank) const {
    return all_.subspan(bounds_[rank], bounds_[rank + 1] - bounds_[rank]);
  }

  const HostRanks& hosts_;
  const Peers& peers_;
  std::span<std::byte> all_;
  std::vector<std::size_t> bounds_;
  Messages messages_;
  std::vector<std::unique_ptr<Gather>> within_;  ///< of each host's part
};

class SharingHosts final : public HostsCommunicator {
 public:
  SharingHosts(const MpiGroup& world, PeerWatch& watch, const HostRanks& hosts,
               std::unique_ptr<Communicator> within)
      : peers_(world, watch),
        hosts_(hosts),
        within_(std::move(within)),
        messages_(make_message_communicator(world, watch)) {}

  int rank() const override { return static_cast<int>(peers_.rank); }
  int size() const override { return static_cast<int>(peers_.size); }
  std::string name() const override { return "shared memory and messages"; }

  std::vector<Buffer> shared_arenas(std::size_t count, std::size_t elements) override {
    return within_->shared_arenas(count, elements);
  }
  Buffer common_arena(std::size_t elements) override { return within_->common_arena(elements); }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return messages_->plan_sum(std::move(layout));
  }
  std::unique_ptr<Gather> plan_gather(std::span<std::byte> all,
                                      std::span<const std::size_t> bounds) override {
    return std::make_unique<HostsGather>(hosts_, peers_, *within_, all, bounds);
  }
  std::unique_ptr<AllReduce> plan_all_reduce(std::span<float> values) override {
    return plan_mpi_all_reduce(values, peers_.group);
  }

  const HostRanks& hosts() const override { return hosts_; }
  Communicator& within_host() override { return *within_; }
  std::unique_ptr<SumExchange> plan_host_sums(SumLayout layout) override {
    SumRoutes routes;
    for (std::size_t host = 0; host < hosts_.hosts(); ++host) {
      routes.sources.push_back({hosts_.partner(peers_.rank, host), layout.counts[host]});
    }
    for (std::size_t step = 1; step < peers_.size; ++step) {
      const std::size_t owner = (peers_.rank + step) % peers_.size;  // not all to one owner at once
      if (hosts_.host_of(owner) == hosts_.host()) continue;
      if (hosts_.partner(owner, hosts_.host()) == peers_.rank) routes.owners.push_back(owner);
    }
    return plan_routed_sums(peers_, std::move(routes), std::move(layout));
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    messages_->all_gather_bytes(own, bytes, all);
  }
  void barrier() override { messages_->barrier(); }
  void check() override { peers_.watch.check(); }

 private:
  Peers peers_;
  HostRanks hosts_;
  std::unique_ptr<Communicator> within_;
  std::unique_ptr<Communicator> messages_;
};

}  // namespace

std::unique_ptr<Communicator> make_hosts_communicator(const MpiGroup& world, const MpiGroup& host,
                                                      const HostRanks& hosts, PeerWatch& watch) {
  auto within = host.size() == 1 ? make_self_communicator() : make_shared_memory_communicator(host, watch);
  int shares = within != nullptr ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &shares, 1, MPI_INT, MPI_MIN, world.get()), "MPI_Allreduce");
  if (shares == 0) return nullptr;
  return std::make_unique<SharingHosts>(world, watch, hosts, std::move(within));
}

}  // namespace lockstep
