#include <algorithm>

#include "comm/hosts_communicator.h"
#include "comm/messages.h"
#include "comm/mpi_all_reduce.h"
#include "comm/world/runtime.h"

namespace lockstep {
namespace {

class MessageGather final : public Gather {
 public:
  MessageGather(const Peers& peers, std::span<std::byte> all, std::span<const std::size_t> bounds)
      : peers_(peers), all_(all), bounds_(bounds.begin(), bounds.end()), messages_(peers) {}

  void record(Stream& stream) override {
    stream.call([this] { gather(); }, Phase::reduce);
  }

 private:
  void gather() {
    for (std::size_t peer = 0; peer < peers_.size; ++peer) {
      if (peer == peers_.rank) continue;
      messages_.receive(part(peer), peer);
      messages_.send(part(peers_.rank), peer);
    }
    messages_.complete();
  }
  std::span<std::byte> part(std::size_t rank) const {
    return all_.subspan(bounds_[rank], bounds_[rank + 1] - bounds_[rank]);
  }

  const Peers& peers_;
  std::span<std::byte> all_;
  std::vector<std::size_t> bounds_;
  Messages messages_;
};

class MessageCommunicator final : public Communicator {
 public:
  MessageCommunicator(const MpiGroup& world, PeerWatch& watch) : peers_(world, watch), messages_(peers_) {}

  int rank() const override { return static_cast<int>(peers_.rank); }
  int size() const override { return static_cast<int>(peers_.size); }
  std::string name() const override { return "messages"; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    SumRoutes routes;
    for (std::size_t rank = 0; rank < peers_.size; ++rank) {
      routes.sources.push_back({rank, layout.counts[rank]});
    }
    for (std::size_t step = 1; step < peers_.size; ++step) {
      routes.owners.push_back((peers_.rank + step) % peers_.size);  // not all to one owner at once
    }
    return plan_routed_sums(peers_, std::move(routes), std::move(layout));
  }
  std::unique_ptr<Gather> plan_gather(std::span<std::byte> all,
                                      std::span<const std::size_t> bounds) override {
    return std::make_unique<MessageGather>(peers_, all, bounds);
  }
  std::unique_ptr<AllReduce> plan_all_reduce(std::span<float> values) override {
    return plan_mpi_all_reduce(values, peers_.group);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    for (std::size_t peer = 0, begin = 0; peer < peers_.size; begin += bytes[peer++]) {
      const std::span<std::byte> part = all.subspan(begin, bytes[peer]);
      if (peer == peers_.rank) {
        std::copy(own.begin(), own.end(), part.begin());
      } else {
        messages_.receive(part, peer);
        messages_.send(own, peer);
      }
    }
    messages_.complete();
  }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(peers_.group.get(), &request), "MPI_Ibarrier");
    complete(request, peers_.watch);
  }

  void check() override { peers_.watch.check(); }

 private:
  Peers peers_;
  Messages messages_;
};

}  // namespace

std::unique_ptr<Communicator> make_message_communicator(const MpiGroup& world, PeerWatch& watch) {
  return std::make_unique<MessageCommunicator>(world, watch);
}

std::unique_ptr<Communicator> make_message_communicator(const World& world) {
  return make_message_communicator(world.runtime().ranks.world, *world.runtime().watch);
}

}  // namespace lockstep
