#include <algorithm>
#include <array>

#include "comm/aligned_floats.h"
#include "comm/communicator.h"
#include "comm/exchange_rounds.h"
#include "comm/runtime.h"

namespace lockstep {
namespace {

constexpr ExchangeRounds::Limits limits{.staging = 1 << 20, .smallest = 1 << 12, .largest = 1 << 18};

class MessageCommunicator final : public Communicator {
 public:
  explicit MessageCommunicator(const World& world)
      : group_(MpiGroup::duplicate(world.runtime().ranks.world.get())),
        watch_(*world.runtime().watch),
        rank_(static_cast<std::size_t>(world.rank())),
        size_(static_cast<std::size_t>(world.size())) {}

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(size_); }
  std::string name() const override { return "messages"; }

  void exchange(PartialSums& partials, const UseChunk& use) override {
    const ExchangeRounds rounds(partials, limits);
    if (rounds.count > 0) post(partials, rounds, 0);
    for (std::size_t round = 0; round < rounds.count; ++round) {
      if (round + 1 < rounds.count) post(partials, rounds, round + 1);
      complete(stages_[round % 2].requests, watch_);
      const std::size_t length = rounds.length(partials, rank_, round);
      if (length == 0) continue;
      const std::size_t begin = rounds.begin(partials, rank_, round);
      gather_inputs(partials, rounds, round);
      use(inputs_, begin, begin + length);
    }
    if (!partials.results.empty()) gather(partials.results, partials.slices);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    requests_.clear();
    for (std::size_t peer = 0, begin = 0; peer < size_; begin += bytes[peer++]) {
      const std::span<std::byte> part = all.subspan(begin, bytes[peer]);
      if (peer == rank_) {
        std::copy(own.begin(), own.end(), part.begin());
      } else {
        receive(requests_, part, peer, 0);
        send(requests_, own, peer, 0);
      }
    }
    complete(requests_, watch_);
  }

  void all_reduce(std::span<float> values) override { all_reduce_floats(values, group_); }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(group_.get(), &request), "MPI_Ibarrier");
    complete(request, watch_);
  }

  void check() override { watch_.check(); }

 private:
  using Requests = std::vector<MPI_Request>;
  /// Two rounds are under way at once: one arrives while the other is summed.
  struct Stage {
    AlignedFloats floats;
    Requests requests;
  };
  static constexpr std::size_t largest_message = std::size_t{1} << 30;

  static std::span<float> slice(std::span<float> arena, const Slices& slices, std::size_t owner) {
    return arena.subspan(slices[owner], slices[owner + 1] - slices[owner]);
  }

  void gather(std::span<float> arena, const Slices& slices) {
    requests_.clear();
    for (std::size_t peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      receive(requests_, std::as_writable_bytes(slice(arena, slices, peer)), peer, 0);
      send(requests_, std::as_bytes(slice(arena, slices, rank_)), peer, 0);
    }
    complete(requests_, watch_);
  }

  /// Messages between two ranks with one tag stay in order, so rounds need no tags of their own.
  void send(Requests& requests, std::span<const std::byte> bytes, std::size_t peer, std::size_t tag) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), largest_message));
      check_mpi(MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(peer),
                          static_cast<int>(tag), group_.get(), &requests.emplace_back()),
                "MPI_Isend");
      bytes = bytes.subspan(part.size());
    }
  }

  void receive(Requests& requests, std::span<std::byte> bytes, std::size_t peer, std::size_t tag) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), largest_message));
      check_mpi(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(peer),
                          static_cast<int>(tag), group_.get(), &requests.emplace_back()),
                "MPI_Irecv");
      bytes = bytes.subspan(part.size());
    }
  }

  /// Starts a round: receives of this rank's chunk, then sends of the other owners' chunks.
  void post(const PartialSums& partials, const ExchangeRounds& rounds, std::size_t round) {
    Stage& stage = stages_[round % 2];
    stage.requests.clear();
    const std::size_t length = rounds.length(partials, rank_, round);
    stage.floats.grow((rounds.inputs - partials.own.size()) * rounds.chunk);
    std::size_t slot = 0;
    for (std::size_t peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      for (std::size_t i = 0; i < partials.counts[peer]; ++i, ++slot) {
        const std::span<float> into(stage.floats.data() + slot * rounds.chunk, length);
        receive(stage.requests, std::as_writable_bytes(into), peer, i);
      }
    }
    post_sends(partials, rounds, round);
  }

  void post_sends(const PartialSums& partials, const ExchangeRounds& rounds, std::size_t round) {
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t owner = (rank_ + step) % size_;  // not all to one owner at once
      const std::size_t begin = rounds.begin(partials, owner, round);
      const std::size_t length = rounds.length(partials, owner, round);
      for (std::size_t i = 0; i < partials.own.size(); ++i) {
        const std::span<const float> part(partials.own[i] + begin, length);
        send(stages_[round % 2].requests, std::as_bytes(part), owner, i);
      }
    }
  }

  void gather_inputs(const PartialSums& partials, const ExchangeRounds& rounds, std::size_t round) {
    inputs_.clear();
    const float* staged = stages_[round % 2].floats.data();
    for (std::size_t peer = 0; peer < size_; ++peer) {
      for (std::size_t i = 0; i < partials.counts[peer]; ++i) {
        if (peer == rank_) {
          inputs_.push_back(partials.own[i] + rounds.begin(partials, rank_, round));
        } else {
          inputs_.push_back(staged);
          staged += rounds.chunk;
        }
      }
    }
  }

  MpiGroup group_;
  PeerWatch& watch_;
  std::size_t rank_, size_;
  std::array<Stage, 2> stages_;
  Requests requests_;
  std::vector<const float*> inputs_;
};

}  // namespace

std::unique_ptr<Communicator> make_message_communicator(const World& world) {
  return std::make_unique<MessageCommunicator>(world);
}

}  // namespace lockstep
