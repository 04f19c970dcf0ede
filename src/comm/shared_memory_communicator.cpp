#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "comm/communicator.h"
#include "comm/runtime.h"
#include "comm/shared_memory.h"
#include "comm/shared_windows.h"

namespace lockstep {
namespace {

/// How an exchange is cut into rounds; equal on all ranks.
struct WindowRounds {
  std::size_t chunk = 0;  ///< elements of every slice that one round moves
  std::size_t count = 0;
  std::size_t all = 0;  ///< with those that only bring results
  /// A chunk is summed while the next one is staged, and its result taken after that.
  static constexpr std::size_t result_lag = 2;

  WindowRounds(const PartialSums& partials, std::size_t elements_per_chunk) : chunk(elements_per_chunk) {
    const Slices& slices = partials.slices;
    for (std::size_t owner = 0; owner + 1 < slices.size(); ++owner) {
      count = std::max(count, (slices[owner + 1] - slices[owner] + chunk - 1) / chunk);
    }
    all = count == 0 || partials.results.empty() ? count : count + result_lag;
  }
};

/// A window half holds this many elements of its rank's results and of each of its partial sums for every
/// other rank.
std::size_t staged_chunk(const PartialSums& partials, std::size_t half_bytes) {
  const std::size_t most = *std::max_element(partials.counts.begin(), partials.counts.end());
  const std::size_t pieces = 1 + most * (partials.counts.size() - 1);
  const std::size_t chunk = half_bytes / sizeof(float) / pieces & ~std::size_t{15};
  if (chunk == 0) {
    throw Error(Category::resource, fmt::format("{} ranks are too many for shared memory; use --transport "
                                                "messages",
                                                partials.counts.size()));
  }
  return chunk;
}

/// Elements [begin, end) of `owner`'s slice that belong to a round; empty after its last.
struct Chunk {
  std::size_t begin, end;
  Chunk(const Slices& slices, const WindowRounds& rounds, std::size_t owner, std::size_t round)
      : begin(std::min(slices[owner] + round * rounds.chunk, slices[owner + 1])),
        end(std::min(begin + rounds.chunk, slices[owner + 1])) {}
  std::size_t length() const { return end - begin; }
};

/// Arenas of all ranks: `bytes` from rank * stride on are a rank's. Stride 0: they are everyone's.
struct SharedArenas {
  std::unique_ptr<SharedMemory> memory;
  std::size_t bytes;
  std::size_t stride;

  std::byte* of(std::size_t rank) const { return memory->data() + rank * stride; }
};

/// All ranks' partial sums and results in rank order as this process sees them, where it sees them all.
struct MappedSums final : Kept::State {
  bool complete = false;
  std::vector<const float*> partials, results;
  /// Where a peer brings partial sums and results in two exchanges, so does this rank.
  struct Halves {
    PartialSums sums, results;
  };
  std::optional<Halves> halves;
};

std::size_t whole_pages(std::size_t elements) {
  constexpr std::size_t page = 4096;
  return (elements * sizeof(float) + page - 1) / page * page;
}

class SharedMemoryCommunicator final : public Communicator {
 public:
  SharedMemoryCommunicator(std::unique_ptr<SharedWindows> windows, const World& world)
      : world_(world),
        windows_(std::move(windows)),
        group_(MpiGroup::duplicate(world.runtime().ranks.world.get())),
        rank_(static_cast<std::size_t>(world.rank())),
        size_(static_cast<std::size_t>(world.size())) {}

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(size_); }
  std::string name() const override { return "shared memory"; }

  std::vector<Buffer> shared_arenas(std::size_t count, std::size_t elements) override {
    const std::size_t bytes = whole_pages(elements);
    const std::size_t most =
        std::ranges::max(all_gather_numbers({count}, std::vector<std::size_t>(size_, 1)));
    std::vector<Buffer> arenas;
    std::byte* const first = add_arenas(most * bytes, most * bytes);
    for (std::size_t i = 0; i < count && first != nullptr; ++i) {
      arenas.emplace_back(first + i * bytes, elements * sizeof(float), [](void*) {});
    }
    return arenas;
  }

  Buffer common_arena(std::size_t elements) override {
    std::byte* data = add_arenas(whole_pages(elements), 0);
    return data != nullptr ? Buffer(data, elements * sizeof(float), [](void*) {}) : Buffer();
  }

  void exchange(PartialSums& partials, const UseChunk& use) override {
    if (!partials.kept.state) partials.kept.state = map(partials);
    auto& mapped = static_cast<MappedSums&>(*partials.kept.state);
    if (mapped.complete) {
      exchange_mapped(partials, mapped, use);
    } else if (mapped.halves) {
      exchange_staged(mapped.halves->sums, use);
      exchange(mapped.halves->results, [](std::span<const float* const>, std::size_t, std::size_t) {});
    } else {
      exchange_staged(partials, use);
    }
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

  void check() override { world_.runtime().watch->check(); }

 private:
  /// This rank's part of new shared memory, or null. Collective.
  std::byte* add_arenas(std::size_t bytes, std::size_t stride) {
    if (bytes == 0) return nullptr;
    auto memory = SharedMemory::create(world_, stride == 0 ? bytes : size_ * stride);
    if (memory == nullptr) return nullptr;
    arenas_.push_back({std::move(memory), bytes, stride});
    return arenas_.back().of(rank_);
  }

  /// Every rank's `own` numbers, `counts[rank]` of them, in rank order.
  std::vector<std::uint64_t> all_gather_numbers(const std::vector<std::uint64_t>& own,
                                                const std::vector<std::size_t>& counts) {
    std::vector<std::size_t> bytes;
    for (const std::size_t count : counts) bytes.push_back(count * sizeof(std::uint64_t));
    std::vector<std::uint64_t> all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    all_gather_bytes(std::as_bytes(std::span(own)), bytes, std::as_writable_bytes(std::span(all)));
    return all;
  }

  /// An address of this rank's shared arenas in a form that every rank can translate.
  static constexpr std::uint64_t not_shared = ~std::uint64_t{0};
  static constexpr unsigned offset_bits = 48;
  std::uint64_t place_of(const void* address) const {
    for (std::size_t i = 0; i < arenas_.size(); ++i) {
      const auto offset =  // huge for an address before the arenas
          reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(arenas_[i].of(rank_));
      if (offset < arenas_[i].bytes) return std::uint64_t{i} << offset_bits | offset;
    }
    return not_shared;
  }
  const float* address_of(std::uint64_t place, std::size_t rank) const {
    if (place == not_shared || arenas_.empty()) return nullptr;
    const std::uint64_t offset = place & ((std::uint64_t{1} << offset_bits) - 1);
    return reinterpret_cast<const float*>(arenas_[place >> offset_bits].of(rank) + offset);
  }

  /// What a rank says of the partial sums and results that it brings, as all_gather_numbers brings it.
  std::vector<std::uint64_t> places_of(const PartialSums& partials) const {
    const bool results = !partials.results.empty();
    std::vector<std::uint64_t> places{results, results ? place_of(partials.results.data()) : 0};
    for (const float* partial : partials.own) places.push_back(place_of(partial));
    return places;
  }

  std::unique_ptr<MappedSums> map(const PartialSums& partials) {
    std::vector<std::size_t> counts;
    for (const std::uint32_t count : partials.counts) counts.push_back(2 + count);
    const std::vector<std::uint64_t> all = all_gather_numbers(places_of(partials), counts);
    auto mapped = std::make_unique<MappedSums>();
    std::size_t ranks_with_results = 0;
    auto place = all.begin();
    for (std::size_t rank = 0; rank < size_; ++rank) {
      ranks_with_results += *place++;
      mapped->results.push_back(address_of(*place++, rank));
      for (std::uint32_t i = 0; i < partials.counts[rank]; ++i) {
        mapped->partials.push_back(address_of(*place++, rank));
      }
    }
    const bool alike = ranks_with_results == 0 || ranks_with_results == size_;
    mapped->complete = alike && std::ranges::find(all, not_shared) == all.end();
    if (!alike && !partials.results.empty()) mapped->halves = halves_of(partials);
    return mapped;
  }

  static MappedSums::Halves halves_of(const PartialSums& partials) {
    MappedSums::Halves halves{partials, partials};
    halves.sums.results = {};
    halves.results.own.clear();
    halves.results.counts.assign(partials.counts.size(), 0);
    return halves;
  }

  /// Ranks read each other's arenas; the rounds say how far their owners are.
  void exchange_mapped(const PartialSums& partials, const MappedSums& mapped, const UseChunk& use) {
    constexpr std::size_t chunk = 1 << 15;  // that of two ranks and its sum stay in the L2 cache
    const WindowRounds rounds(partials, chunk);
    const auto take = [&](std::size_t peer, const Chunk& part) {
      const float* from = mapped.results[peer];
      float* to = partials.results.data();
      if (from != to) std::copy_n(from + part.begin, part.length(), to + part.begin);
    };
    windows_->run(
        rounds.all, [](std::size_t, std::byte*) {},
        [&](std::size_t round) {
          const Chunk own(partials.slices, rounds, rank_, round);
          if (own.length() > 0) {
            inputs_.clear();
            for (const float* partial : mapped.partials) inputs_.push_back(partial + own.begin);
            use(inputs_, own.begin, own.end);
          }
          take_results(partials, rounds, round, take);
        });
    barrier();  // until then peers may read what the next step overwrites
  }

  /// Arenas travel through the windows: while a chunk's partial sums are staged, the results of an earlier
  /// one go out with them.
  void exchange_staged(const PartialSums& partials, const UseChunk& use) {
    const WindowRounds rounds(partials, staged_chunk(partials, windows_->half_bytes()));
    const auto take = [&](std::size_t peer, const Chunk& part) {
      std::copy_n(staged_by(peer), part.length(), partials.results.data() + part.begin);
    };
    windows_->run(
        rounds.all,
        [&](std::size_t round, std::byte* half) {
          auto* floats = reinterpret_cast<float*>(half);
          if (round >= WindowRounds::result_lag && !partials.results.empty()) {
            const Chunk result(partials.slices, rounds, rank_, round - WindowRounds::result_lag);
            std::copy_n(partials.results.data() + result.begin, result.length(), floats);
          }
          if (round < rounds.count) stage_partials(partials, rounds, round, floats + rounds.chunk);
        },
        [&](std::size_t round) {
          if (round < rounds.count) use_partials(partials, rounds, round, use);
          take_results(partials, rounds, round, take);
        });
  }

  template <typename Take>
  void take_results(const PartialSums& partials, const WindowRounds& rounds, std::size_t round,
                    const Take& take) {
    if (round < WindowRounds::result_lag || partials.results.empty()) return;
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t peer = (rank_ + step) % size_;
      take(peer, Chunk(partials.slices, rounds, peer, round - WindowRounds::result_lag));
    }
  }

  /// Position of `rank`'s piece in `holder`'s window, which has none for its holder.
  static std::size_t piece(std::size_t rank, std::size_t holder) { return rank < holder ? rank : rank - 1; }

  void stage_partials(const PartialSums& partials, const WindowRounds& rounds, std::size_t round,
                      float* pieces) {
    for (std::size_t owner = 0; owner < size_; ++owner) {
      const Chunk chunk(partials.slices, rounds, owner, round);
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
    const Chunk chunk(partials.slices, rounds, rank_, round);
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

  const World& world_;
  std::unique_ptr<SharedWindows> windows_;
  std::vector<SharedArenas> arenas_;
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
