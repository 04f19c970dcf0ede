#include <algorithm>
#include <array>

#include "comm/aligned_floats.h"
#include "comm/communicator.h"
#include "comm/exchange_rounds.h"
#include "comm/mpi_all_reduce.h"
#include "comm/runtime.h"

namespace lockstep {
namespace {

constexpr ExchangeRounds::Limits limits{.staging = 1 << 20, .smallest = 1 << 12, .largest = 1 << 18};

/// The ranks that messages go between, and who looks after them.
struct Peers {
  explicit Peers(const World& world)
      : group(MpiGroup::duplicate(world.runtime().ranks.world.get())),
        watch(*world.runtime().watch),
        rank(static_cast<std::size_t>(world.rank())),
        size(static_cast<std::size_t>(world.size())) {}
  MpiGroup group;
  PeerWatch& watch;
  std::size_t rank, size;
};

/// Messages under way. Those between two ranks with one tag stay in order.
class Messages {
 public:
  explicit Messages(const Peers& peers) : peers_(peers) {}

  void send(std::span<const std::byte> bytes, std::size_t peer, std::size_t tag = 0) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), largest));
      check_mpi(MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(peer),
                          static_cast<int>(tag), peers_.group.get(), &requests_.emplace_back()),
                "MPI_Isend");
      bytes = bytes.subspan(part.size());
    }
  }
  void receive(std::span<std::byte> bytes, std::size_t peer, std::size_t tag = 0) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), largest));
      check_mpi(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(peer),
                          static_cast<int>(tag), peers_.group.get(), &requests_.emplace_back()),
                "MPI_Irecv");
      bytes = bytes.subspan(part.size());
    }
  }
  /// Waits for all.
  void complete() {
    lockstep::complete(requests_, peers_.watch);
    requests_.clear();
  }

 private:
  static constexpr std::size_t largest = std::size_t{1} << 30;

  const Peers& peers_;
  std::vector<MPI_Request> requests_;
};

class MessageSums final : public SumExchange {
 public:
  MessageSums(const Peers& peers, SumLayout layout)
      : peers_(peers),
        layout_(std::move(layout)),
        rounds_(layout_, limits),
        stages_{Stage(peers), Stage(peers)} {
    const std::size_t staged = layout_.inputs() - layout_.own.size();
    for (Stage& stage : stages_) stage.floats.grow(staged * rounds_.chunk());
    for (std::size_t round = 0; round < rounds_.count(); ++round) inputs_.push_back(inputs_of(round));
  }

  std::optional<SumChunk> next(Stream& stream) override {
    while (next_ < rounds_.count()) {
      const std::size_t round = next_++;
      stream.call([this, round] { bring(round); }, Phase::reduce);
      const std::size_t begin = rounds_.begin(peers_.rank, round),
                        length = rounds_.length(peers_.rank, round);
      if (length > 0) return SumChunk{begin, begin + length, inputs_[round]};
    }
    next_ = 0;
    return std::nullopt;
  }

 private:
  /// Two rounds are under way at once: one arrives while the other is summed.
  struct Stage {
    explicit Stage(const Peers& peers) : messages(peers) {}
    AlignedFloats floats;
    Messages messages;
  };

  void bring(std::size_t round) {
    if (round == 0) post(0);
    if (round + 1 < rounds_.count()) post(round + 1);
    stages_[round % 2].messages.complete();
  }

  /// Starts a round: receives of this rank's chunk, then sends of the other owners' chunks.
  void post(std::size_t round) {
    Stage& stage = stages_[round % 2];
    const std::size_t length = rounds_.length(peers_.rank, round);
    float* into = stage.floats.data();
    for (std::size_t peer = 0; peer < peers_.size; ++peer) {
      if (peer == peers_.rank) continue;
      for (std::size_t i = 0; i < layout_.counts[peer]; ++i, into += rounds_.chunk()) {
        stage.messages.receive(std::as_writable_bytes(std::span(into, length)), peer, i);
      }
    }
    for (std::size_t step = 1; step < peers_.size; ++step) {
      const std::size_t owner = (peers_.rank + step) % peers_.size;  // not all to one owner at once
      for (std::size_t i = 0; i < layout_.own.size(); ++i) {
        const std::span<const float> part(layout_.own[i] + rounds_.begin(owner, round),
                                          rounds_.length(owner, round));
        stage.messages.send(std::as_bytes(part), owner, i);
      }
    }
  }

  std::vector<const float*> inputs_of(std::size_t round) {
    std::vector<const float*> inputs;
    const float* staged = stages_[round % 2].floats.data();
    for (std::size_t peer = 0; peer < peers_.size; ++peer) {
      for (std::size_t i = 0; i < layout_.counts[peer]; ++i) {
        if (peer == peers_.rank) {
          inputs.push_back(layout_.own[i] + rounds_.begin(peers_.rank, round));
        } else {
          inputs.push_back(staged);
          staged += rounds_.chunk();
        }
      }
    }
    return inputs;
  }

  const Peers& peers_;
  SumLayout layout_;
  ExchangeRounds rounds_;
  std::array<Stage, 2> stages_;
  std::vector<std::vector<const float*>> inputs_;  ///< of every round
  std::size_t next_ = 0;                           ///< round to be recorded
};

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
  explicit MessageCommunicator(const World& world) : peers_(world), messages_(peers_) {}

  int rank() const override { return static_cast<int>(peers_.rank); }
  int size() const override { return static_cast<int>(peers_.size); }
  std::string name() const override { return "messages"; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return std::make_unique<MessageSums>(peers_, std::move(layout));
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

std::unique_ptr<Communicator> make_message_communicator(const World& world) {
  return std::make_unique<MessageCommunicator>(world);
}

}  // namespace lockstep
