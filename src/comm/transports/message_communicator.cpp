#include <algorithm>

#include "comm/transports/hosts_communicator.h"
#include "comm/transports/messages.h"

namespace lockstep {
namespace {

class MessageCommunicator final : public Communicator {
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

}  // namespace

std::unique_ptr<Communicator> make_message_communicator(const MpiGroup& world, Watch& watch) {
  return std::make_unique<MessageCommunicator>(world, watch);
}

}  // namespace lockstep
