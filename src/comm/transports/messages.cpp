#include "comm/transports/messages.h"

#include <algorithm>

#include "comm/aligned_floats.h"

namespace lockstep {
namespace {

/// Elements of a message: 60 KB. Open MPI sends up to 64 KB through TCP eagerly. For a longer message it asks
/// the receiver first; the answer queues behind the data of other messages while the link idles (2 hosts at
/// 1 Gb/s, 34 MB each way: 60 KB messages use 95 % of the link, 1 MB messages, two at a time, 60 %).
constexpr std::size_t message_elements = 15360;
constexpr std::size_t message_bytes = message_elements * sizeof(float);
constexpr ChunkLimits chunk_limits{.staging = 1 << 20, .smallest = 1 << 12, .largest = message_elements};

class MessageSums final : public RoutedSums {
 public:
  MessageSums(const Messages& messages, std::size_t chunk, SumLayout layout, Routes routes)
      : RoutedSums(messages.rank(), std::move(layout), std::move(routes), chunk),
        messages_(messages),
        in_transit_(messages, arrivals() * arrival_stride() * sizeof(float)),
        arrived_(in_transit_.in_transit() * arrivals() * arrival_stride()) {
    for (std::size_t round = 0; round < rounds(); ++round) {
      const std::size_t place = round % in_transit_.in_transit();
      place_inputs(round, arrived_.data() + place * arrivals() * arrival_stride());
    }
  }

 private:
  void record_round(Stream& stream, std::size_t round) override {
    stream.call(
        [this, round] {
          const InCollective in(messages_.watch(), Collective::sum, Group::world,
                                layout_.inputs() * chunk() * sizeof(float));
          in_transit_.complete(round, rounds(), [this](std::size_t next, std::vector<MPI_Request>& requests) {
            start(next, requests);
          });
        },
        Phase::reduce);
  }

  void start(std::size_t round, std::vector<MPI_Request>& requests) {
    transfer(
        round,
        [&](std::span<std::byte> bytes, std::size_t peer, std::size_t i) {
          messages_.receive(requests, bytes, peer, i);
        },
        [&](std::span<const std::byte> bytes, std::size_t peer, std::size_t i) {
          messages_.send(requests, bytes, peer, i);
        });
  }

  const Messages& messages_;
  MessageRounds in_transit_;
  AlignedFloats arrived_;
};

}  // namespace

void Messages::send(std::vector<MPI_Request>& requests, std::span<const std::byte> bytes, std::size_t peer,
                    std::size_t tag) const {
  if (bytes.empty()) return;
  check_mpi(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(peer),
                      static_cast<int>(tag), group_.get(), &requests.emplace_back()),
            "MPI_Isend");
}

void Messages::receive(std::vector<MPI_Request>& requests, std::span<std::byte> bytes, std::size_t peer,
                       std::size_t tag) const {
  if (bytes.empty()) return;
  check_mpi(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(peer),
                      static_cast<int>(tag), group_.get(), &requests.emplace_back()),
            "MPI_Irecv");
}

void Messages::complete(std::vector<MPI_Request>& requests) const {
  lockstep::complete(requests);
  requests.clear();
}

/// Rounds in transit hold at most 8 MB, but there are at least two: one is in the network while another is
/// handled.
MessageRounds::MessageRounds(const Messages& messages, std::size_t bytes)
    : messages_(&messages),
      requests_(std::clamp<std::size_t>((8 << 20) / std::max<std::size_t>(bytes, 1), 2, 64)) {}

std::unique_ptr<SumExchange> plan_message_sums(const Messages& messages, SumLayout layout, Routes routes) {
  const std::size_t chunk = chunk_limits.chunk(layout.inputs());
  return std::make_unique<MessageSums>(messages, chunk, std::move(layout), std::move(routes));
}

Gather plan_message_gather(const Messages& messages, std::span<std::byte> all,
                           std::span<const std::size_t> bounds, const Routes& routes) {
  const auto part = [&](std::size_t rank) {
    return all.subspan(bounds[rank], bounds[rank + 1] - bounds[rank]);
  };
  const auto piece = [](std::span<std::byte> whole, std::size_t round) {
    const std::size_t begin = std::min(round * message_bytes, whole.size());
    return whole.subspan(begin, std::min(message_bytes, whole.size() - begin));
  };
  const std::span<std::byte> own = part(messages.rank());
  std::size_t longest = own.size();
  std::vector<std::span<std::byte>> arriving;
  for (const std::size_t owner : routes.owners) {
    longest = std::max(longest, arriving.emplace_back(part(owner)).size());
  }
  return call_in_each_run([&messages, routes, arriving, own, piece, bytes = all.size(),
                           rounds = (longest + message_bytes - 1) / message_bytes,
                           in_transit = MessageRounds(messages, arriving.size() * message_bytes)]() mutable {
    const InCollective in(messages.watch(), Collective::gather, Group::world, bytes);
    const auto start = [&](std::size_t round, std::vector<MPI_Request>& requests) {
      for (std::size_t i = 0; i < arriving.size(); ++i) {
        messages.receive(requests, piece(arriving[i], round), routes.owners[i]);
      }
      for (const std::size_t source : routes.sources) {
        if (source != messages.rank()) messages.send(requests, piece(own, round), source);
      }
    };
    for (std::size_t round = 0; round < rounds; ++round) in_transit.complete(round, rounds, start);
  });
}

AllReduce plan_mpi_all_reduce(const MpiGroup& group, Watch& watch, std::span<float> values) {
  return {.start = call_in_each_run([&group, &watch, values] {
            const InCollective in(watch, Collective::all_reduce, Group::world, values.size_bytes());
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
