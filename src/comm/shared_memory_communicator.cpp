#include <algorithm>
#include <cstring>
#include <numeric>

#include "comm/communicator.h"
#include "comm/runtime.h"
#include "comm/shared_windows.h"

namespace lockstep {
namespace {

/// How much of every slice one round moves; equal on all ranks. A window half holds this chunk of its rank's
/// results and of each of its partial sums for every other rank.
struct WindowRounds {
  std::size_t chunk = 0;
  std::size_t count = 0;
  /// A chunk is summed while the next one is staged, and its result staged after that.
  static constexpr std::size_t result_lag = 2;

  WindowRounds(const PartialSums& partials, std::size_t half_bytes) {
    const std::size_t most = *std::max_element(partials.counts.begin(), partials.counts.end());
    const std::size_t pieces = 1 + most * (partials.counts.size() - 1);
    chunk = half_bytes / sizeof(float) / pieces & ~std::size_t{15};
    if (chunk == 0) throw Error(Category::internal, "too many partial sums for a staging window");
    for (std::size_t owner = 0; owner < partials.counts.size(); ++owner) {
      const std::size_t length = partials.slices[owner + 1] - partials.slices[owner];
      count = std::max(count, (length + chunk - 1) / chunk);
    }
  }
};

/// Elements [begin, end) of `owner`'s slice that belong to a round; empty after its last.
struct Chunk {
  std::size_t begin, end;
  Chunk(const PartialSums& partials, const WindowRounds& rounds, std::size_t owner, std::size_t round)
      : begin(std::min(partials.slices[owner] + round * rounds.chunk, partials.slices[owner + 1])),
        end(std::min(begin + rounds.chunk, partials.slices[owner + 1])) {}
  std::size_t length() const { return end - begin; }
};

class SharedMemoryCommunicator final : public Communicator {
 public:
  SharedMemoryCommunicator(std::unique_ptr<SharedWindows> windows, const World& world)
      : windows_(std::move(windows)),
        group_(MpiGroup::duplicate(world.runtime().ranks.world.get())),
        rank_(static_cast<std::size_t>(world.rank())),
        size_(static_cast<std::size_t>(world.size())) {}

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(size_); }
  std::string name() const override { return "shared memory"; }

  /// One pass: while a chunk's partial sums are staged, the results of an earlier one go out with them.
  void exchange(const PartialSums& partials, std::span<float> arena, const UseChunk& use) override {
    const WindowRounds rounds(partials, windows_->half_bytes());
    if (rounds.count == 0) return;
    windows_->run(
        rounds.count + WindowRounds::result_lag,
        [&](std::size_t round, std::byte* half) {
          auto* floats = reinterpret_cast<float*>(half);
          if (round >= WindowRounds::result_lag) {
            const Chunk result(partials, rounds, rank_, round - WindowRounds::result_lag);
            std::memcpy(floats, arena.data() + result.begin, result.length() * sizeof(float));
          }
          if (round < rounds.count) stage_partials(partials, rounds, round, floats + rounds.chunk);
        },
        [&](std::size_t round) {
          if (round < rounds.count) use_partials(partials, rounds, round, use);
          if (round >= WindowRounds::result_lag)
            take_results(partials, rounds, round - WindowRounds::result_lag, arena);
        });
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    offsets_.assign(size_ + 1, 0);
    std::partial_sum(bytes.begin(), bytes.end(), offsets_.begin() + 1);
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(offsets_[rank_]));
    gather(own.data(), all.data());
  }

  void all_reduce(std::span<float> values) override { all_reduce_floats(values, group_); }

  void barrier() override {
    windows_->run(
        1, [](std::size_t, std::byte*) {}, [](std::size_t) {});
  }

 private:
  /// Position of `rank`'s piece in `holder`'s window, which has none for its holder.
  static std::size_t piece(std::size_t rank, std::size_t holder) { return rank < holder ? rank : rank - 1; }

  void stage_partials(const PartialSums& partials, const WindowRounds& rounds, std::size_t round,
                      float* pieces) {
    for (std::size_t owner = 0; owner < size_; ++owner) {
      const Chunk chunk(partials, rounds, owner, round);
      if (owner == rank_ || chunk.length() == 0) continue;
      float* to = pieces + piece(owner, rank_) * partials.own.size() * rounds.chunk;
      for (const float* partial : partials.own) {
        std::memcpy(to, partial + chunk.begin, chunk.length() * sizeof(float));
        to += rounds.chunk;
      }
    }
  }

  void use_partials(const PartialSums& partials, const WindowRounds& rounds, std::size_t round,
                    const UseChunk& use) {
    const Chunk chunk(partials, rounds, rank_, round);
    if (chunk.length() == 0) return;
    inputs_.clear();
    for (std::size_t peer = 0; peer < size_; ++peer) {
      if (peer == rank_) {
        for (const float* partial : partials.own) inputs_.push_back(partial + chunk.begin);
        continue;
      }
      const float* pieces = staged_by(peer) + rounds.chunk;
      const std::size_t first = piece(rank_, peer) * partials.counts[peer];
      for (std::size_t i = 0; i < partials.counts[peer]; ++i) {
        inputs_.push_back(pieces + (first + i) * rounds.chunk);
      }
    }
    use(inputs_, chunk.begin, chunk.end);
  }

  void take_results(const PartialSums& partials, const WindowRounds& rounds, std::size_t round,
                    std::span<float> arena) {
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t peer = (rank_ + step) % size_;
      const Chunk chunk(partials, rounds, peer, round);
      std::memcpy(arena.data() + chunk.begin, staged_by(peer), chunk.length() * sizeof(float));
    }
  }

  const float* staged_by(std::size_t peer) const {
    return reinterpret_cast<const float*>(windows_->staged_by(peer));
  }

  /// Brings rank i's bytes to all[offsets_[i], offsets_[i + 1]) on the other ranks.
  void gather(const std::byte* own, std::byte* all) {
    const std::size_t half_bytes = windows_->half_bytes();
    const auto length = [&](std::size_t rank, std::size_t round) {
      const std::size_t bytes = offsets_[rank + 1] - offsets_[rank];
      return std::min(half_bytes, bytes - std::min(bytes, round * half_bytes));
    };
    std::size_t longest = 0;
    for (std::size_t i = 0; i < size_; ++i) longest = std::max(longest, offsets_[i + 1] - offsets_[i]);
    windows_->run((longest + half_bytes - 1) / half_bytes,
                  [&](std::size_t round, std::byte* half) {
                    const std::size_t bytes = length(rank_, round);
                    if (bytes > 0) std::memcpy(half, own + round * half_bytes, bytes);
                  },
                  [&](std::size_t round) {
                    for (std::size_t step = 1; step < size_; ++step) {
                      const std::size_t peer = (rank_ + step) % size_;
                      const std::size_t bytes = length(peer, round);
                      if (bytes > 0) {
                        std::memcpy(all + offsets_[peer] + round * half_bytes, windows_->staged_by(peer),
                                    bytes);
                      }
                    }
                  });
  }

  std::unique_ptr<SharedWindows> windows_;
  MpiGroup group_;
  std::size_t rank_, size_;
  std::vector<std::size_t> offsets_;
  std::vector<const float*> inputs_;
};

}  // namespace

std::unique_ptr<Communicator> make_shared_memory_communicator(const World& world) {
  auto windows = SharedWindows::create(world);
  if (windows == nullptr) return nullptr;
  return std::make_unique<SharedMemoryCommunicator>(std::move(windows), world);
}

}  // namespace lockstep
