#include "comm/transports/messages.h"

#include <algorithm>

#include "comm/aligned_floats.h"

namespace lockstep {
namespace {

/// Chunks of at most 60 KB: Open MPI sends up to 64 KB through TCP without asking the receiver first, whose
/// answer would queue behind the data of other rounds, while the link idles (2 hosts at 1 Gb/s, 67 MB: chunks
/// of 1 MB use 53 % of it).
constexpr std::size_t staged_elements = 1 << 20;
constexpr ChunkLimits limits{.staging = staged_elements, .smallest = 1 << 12, .largest = 15360};

/// Number of rounds in transit at once: as many as hold twice the elements of a round of the largest chunks.
std::size_t rounds_under_way(std::size_t inputs, std::size_t chunk) {
  constexpr std::size_t most = 64;
  return std::clamp<std::size_t>(2 * staged_elements / std::max<std::size_t>(1, inputs * chunk), 2, most);
}

/// Transfers of one round. Several rounds are in transit at once: some arrive while another is summed.
class MessageSums final : public RoutedSums {
 public:
  MessageSums(const Messages& messages, SumLayout layout, Routes routes)
      : MessageSums(messages, limits.chunk(layout.inputs()), std::move(layout), std::move(routes)) {}

 private:
  MessageSums(const Messages& messages, std::size_t chunk, SumLayout layout, Routes routes)
      : RoutedSums(messages.rank(), std::move(layout), std::move(routes), chunk),
        messages_(messages),
        requests_(rounds_under_way(layout_.inputs(), chunk)),
        arrived_(requests_.size() * arrivals() * arrival_stride()) {
    for (std::size_t round = 0; round < rounds(); ++round) {
      place_inputs(round, arrived_.data() + round % requests_.size() * arrivals() * arrival_stride());
    }
  }

  void bring(Stream& stream, std::size_t round) override {
    stream.call([this, round] { receive(round); }, Phase::reduce);
  }

  void receive(std::size_t round) {
    for (; started_ < std::min(round + requests_.size(), rounds()); ++started_) start(started_);
    if (round + 1 == rounds()) started_ = 0;
    messages_.complete(requests_of(round));
  }

  void start(std::size_t round) {
    std::vector<MPI_Request>& requests = requests_of(round);
    transfer(
        round,
        [&](std::span<std::byte> bytes, std::size_t peer, std::size_t i) {
          messages_.receive(requests, bytes, peer, i);
        },
        [&](std::span<const std::byte> bytes, std::size_t peer, std::size_t i) {
          messages_.send(requests, bytes, peer, i);
        });
  }

  std::vector<MPI_Request>& requests_of(std::size_t round) { return requests_[round % requests_.size()]; }

  const Messages& messages_;
  std::vector<std::vector<MPI_Request>> requests_;  ///< requests of the rounds in transit
  AlignedFloats arrived_;
  std::size_t started_ = 0;  ///< rounds that were started in the run in progress
};

/// Calls transfer(part) for parts of `bytes` whose length MPI can count.
template <class Bytes, class Transfer>
void by_parts(Bytes bytes, const Transfer& transfer) {
  constexpr std::size_t largest = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), largest));
    transfer(part);
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace

void Messages::send(std::vector<MPI_Request>& requests, std::span<const std::byte> bytes, std::size_t peer,
                    std::size_t tag) const {
  by_parts(bytes, [&](std::span<const std::byte> part) {
    check_mpi(MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(peer),
                        static_cast<int>(tag), group_.get(), &requests.emplace_back()),
              "MPI_Isend");
  });
}

void Messages::receive(std::vector<MPI_Request>& requests, std::span<std::byte> bytes, std::size_t peer,
                       std::size_t tag) const {
  by_parts(bytes, [&](std::span<std::byte> part) {
    check_mpi(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(peer),
                        static_cast<int>(tag), group_.get(), &requests.emplace_back()),
              "MPI_Irecv");
  });
}

void Messages::complete(std::vector<MPI_Request>& requests) const {
  lockstep::complete(requests, watch_);
  requests.clear();
}

std::unique_ptr<SumExchange> plan_message_sums(const Messages& messages, SumLayout layout, Routes routes) {
  return std::make_unique<MessageSums>(messages, std::move(layout), std::move(routes));
}

Gather plan_message_gather(const Messages& messages, std::span<std::byte> all,
                           std::span<const std::size_t> bounds, const Routes& routes) {
  const auto part = [&](std::size_t rank) {
    return all.subspan(bounds[rank], bounds[rank + 1] - bounds[rank]);
  };
  std::vector<std::span<std::byte>> arriving;
  for (const std::size_t owner : routes.owners) arriving.push_back(part(owner));
  return call_in_each_run([&messages, routes, arriving, own = part(messages.rank()),
                           requests = std::vector<MPI_Request>()]() mutable {
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      messages.receive(requests, arriving[i], routes.owners[i]);
    }
    for (const std::size_t source : routes.sources) {
      if (source != messages.rank()) messages.send(requests, own, source);
    }
    messages.complete(requests);
  });
}

AllReduce plan_mpi_all_reduce(const MpiGroup& group, std::span<float> values) {
  return {.start = call_in_each_run([&group, values] {
            constexpr std::size_t largest = std::size_t{1} << 28;  // MPI counts are ints
            for (std::span<float> rest = values; !rest.empty();) {
              const std::span<float> part = rest.first(std::min(rest.size(), largest));
              check_mpi(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_FLOAT,
                                      MPI_SUM, group.get()),
                        "MPI_Allreduce");
              rest = rest.subspan(part.size());
            }
          })};
}

}  // namespace lockstep
