#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/exchange.h"
#include "comm/world/mpi_handles.h"
#include "comm/world/peer_watch.h"

namespace lockstep {

/// The ranks that messages go between, and who looks after them.
struct Peers {
  Peers(const MpiGroup& of, PeerWatch& watched)
      : group(MpiGroup::duplicate(of.get())),
        watch(watched),
        rank(static_cast<std::size_t>(group.rank())),
        size(static_cast<std::size_t>(group.size())) {}
  MpiGroup group;
  PeerWatch& watch;
  std::size_t rank, size;
};

/// Messages under way. Those between two ranks with one tag stay in order.
class Messages {
 public:
  explicit Messages(const Peers& peers) : peers_(peers) {}
  void send(std::span<const std::byte> bytes, std::size_t peer, std::size_t tag = 0);
  void receive(std::span<std::byte> bytes, std::size_t peer, std::size_t tag = 0);
  /// Waits for all.
  void complete();

 private:
  const Peers& peers_;
  std::vector<MPI_Request> requests_;
};

/// Between which ranks partial sums travel.
struct SumRoutes {
  struct Source {
    std::size_t rank;
    std::uint32_t count;  ///< partial sums that it brings
  };
  std::vector<Source> sources;      ///< of this rank's slice, in the order of inputs; this rank among them
  std::vector<std::size_t> owners;  ///< whose slices this rank brings its partial sums of
};

/// As Communicator::plan_sum, along `routes`; layout.counts add up to the inputs of every slice.
std::unique_ptr<SumExchange> plan_routed_sums(const Peers& peers, SumRoutes routes, SumLayout layout);

}  // namespace lockstep
