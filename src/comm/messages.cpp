#include "comm/messages.h"

#include <algorithm>

#include "comm/aligned_floats.h"
#include "comm/transports/exchange_rounds.h"

namespace lockstep {
namespace {

/// Chunks of at most 60 KB: Open MPI sends up to 64 KB through TCP without asking the receiver first, whose
/// answer would queue behind the data of other rounds, while the link idles (2 hosts at 1 Gb/s, 67 MB: chunks
/// of 1 MB use 53 % of it).
constexpr std::size_t staged_elements = 1 << 20;
constexpr ExchangeRounds::Limits limits{.staging = staged_elements, .smallest = 1 << 12, .largest = 15360};

/// As many as take twice the elements of a round of the largest chunks.
std::size_t rounds_under_way(std::size_t inputs, std::size_t chunk) {
  constexpr std::size_t most = 64;
  return std::clamp<std::size_t>(2 * staged_elements / std::max<std::size_t>(1, inputs * chunk), 2, most);
}

class RoutedSums final : public SumExchange {
 public:
  RoutedSums(const Peers& peers, SumRoutes routes, SumLayout layout)
      : peers_(peers), routes_(std::move(routes)), layout_(std::move(layout)), rounds_(layout_, limits) {
    const std::size_t stages = rounds_under_way(layout_.inputs(), rounds_.chunk());
    for (std::size_t i = 0; i < stages; ++i) stages_.emplace_back(peers);
    const std::size_t staged = layout_.inputs() - layout_.own.size();
    for (Stage& stage : stages_) stage.floats.grow(staged * rounds_.chunk());
    for (std::size_t round = 0; round < rounds_.count(); ++round) inputs_.push_back(inputs_of(round));
  }

  std::optional<SumChunk> next(Stream& stream) override {
    while (next_ < rounds_.count()) {
      const std::size_t round = next_++;
      stream.call([this, round] { bring(round); }, Phase::reduce);
      const std::size_t begin = rounds_.begin(peers_.rank, round);
      const std::size_t length = rounds_.length(peers_.rank, round);
      if (length > 0) return SumChunk{begin, begin + length, inputs_[round]};
    }
    next_ = 0;
    return std::nullopt;
  }

 private:
  /// Several rounds are under way at once: some arrive while another is summed.
  struct Stage {
    explicit Stage(const Peers& peers) : messages(peers) {}
    AlignedFloats floats;
    Messages messages;
  };

  Stage& stage_of(std::size_t round) { return stages_[round % stages_.size()]; }

  void bring(std::size_t round) {
    for (; posted_ < std::min(round + stages_.size(), rounds_.count()); ++posted_) post(posted_);
    if (round + 1 == rounds_.count()) posted_ = 0;
    stage_of(round).messages.complete();
  }

  /// Starts a round: receives of this rank's chunk, then sends of the other owners' chunks.
  void post(std::size_t round) {
    Stage& stage = stage_of(round);
    const std::size_t length = rounds_.length(peers_.rank, round);
    float* into = stage.floats.data();
    for (const auto& [rank, count] : routes_.sources) {
      if (rank == peers_.rank) continue;
      for (std::size_t i = 0; i < count; ++i, into += rounds_.chunk()) {
        stage.messages.receive(std::as_writable_bytes(std::span(into, length)), rank, i);
      }
    }
    for (const std::size_t owner : routes_.owners) {
      for (std::size_t i = 0; i < layout_.own.size(); ++i) {
        const std::span<const float> part(layout_.own[i] + rounds_.begin(owner, round),
                                          rounds_.length(owner, round));
        stage.messages.send(std::as_bytes(part), owner, i);
      }
    }
  }

  std::vector<const float*> inputs_of(std::size_t round) {
    std::vector<const float*> inputs;
    const float* staged = stage_of(round).floats.data();
    for (const auto& [rank, count] : routes_.sources) {
      for (std::size_t i = 0; i < count; ++i) {
        if (rank == peers_.rank) {
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
  SumRoutes routes_;
  SumLayout layout_;
  ExchangeRounds rounds_;
  std::vector<Stage> stages_;
  std::vector<std::vector<const float*>> inputs_;  ///< of every round
  std::size_t next_ = 0;                           ///< round to be recorded
  std::size_t posted_ = 0;                         ///< rounds that were started in the run at hand
};

constexpr std::size_t largest_message = std::size_t{1} << 30;

}  // namespace

void Messages::send(std::span<const std::byte> bytes, std::size_t peer, std::size_t tag) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), largest_message));
    check_mpi(MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(peer),
                        static_cast<int>(tag), peers_.group.get(), &requests_.emplace_back()),
              "MPI_Isend");
    bytes = bytes.subspan(part.size());
  }
}

void Messages::receive(std::span<std::byte> bytes, std::size_t peer, std::size_t tag) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), largest_message));
    check_mpi(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(peer),
                        static_cast<int>(tag), peers_.group.get(), &requests_.emplace_back()),
              "MPI_Irecv");
    bytes = bytes.subspan(part.size());
  }
}

void Messages::complete() {
  lockstep::complete(requests_, peers_.watch);
  requests_.clear();
}

std::unique_ptr<SumExchange> plan_routed_sums(const Peers& peers, SumRoutes routes, SumLayout layout) {
  return std::make_unique<RoutedSums>(peers, std::move(routes), std::move(layout));
}

}  // namespace lockstep
