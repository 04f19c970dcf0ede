#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "comm/communicator.h"
#include "comm/transports/hosts_communicator.h"
#include "comm/transports/messages.h"
#include "comm/transports/shared_memory.h"
#include "comm/transports/shared_windows.h"
#include "comm/transports/sums_in_rounds.h"

namespace lockstep {
namespace {

/// Copies rank i's bytes to all[bounds[i], bounds[i + 1]) on the other ranks, through the windows. `own`:
/// this rank's bytes.
void gather_through(SharedWindows& windows, Collective kind, std::size_t own_rank, const std::byte* own,
                    std::byte* all, std::span<const std::size_t> bounds) {
  const InCollective in(windows.watch(), kind, Group::host, bounds.back());
  const std::size_t half_bytes = windows.half_bytes(), size = bounds.size() - 1;
  const auto length = [&](std::size_t rank, std::size_t round) {
    const std::size_t bytes = bounds[rank + 1] - bounds[rank];
    return std::min(half_bytes, bytes - std::min(bytes, round * half_bytes));
  };
  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < size; ++rank)
    longest = std::max(longest, bounds[rank + 1] - bounds[rank]);
  windows.run((longest + half_bytes - 1) / half_bytes,
              [&](std::size_t round, std::byte* half) {
                const std::size_t bytes = length(own_rank, round);
                if (bytes > 0) std::memcpy(half, own + round * half_bytes, bytes);
              },
              [&](std::size_t round) {
                for (std::size_t step = 1; step < size; ++step) {
                  const std::size_t peer = (own_rank + step) % size;
                  const std::size_t bytes = length(peer, round);
                  if (bytes > 0) {
                    std::memcpy(all + bounds[peer] + round * half_bytes, windows.staged_by(peer), bytes);
                  }
                }
              });
}

/// Exchange of arenas through the windows: while a chunk is summed, the next one is staged.
class WindowSums final : public SumsInRounds {
 public:
  WindowSums(SharedWindows& windows, std::size_t rank, const SumLayout& layout)
      : SumsInRounds(rank, layout, staged_chunk(layout, windows.half_bytes())), windows_(windows) {
    for (std::size_t round = 0; round < rounds(); ++round) inputs(round).resize(layout.inputs());
  }

 private:
  /// Elements of a chunk, chosen so that half of a window has room for a chunk of each of its rank's partial
  /// sums for every other rank.
  static std::size_t staged_chunk(const SumLayout& layout, std::size_t half_bytes) {
    const std::size_t most = std::ranges::max(layout.counts);
    const std::size_t pieces = std::max<std::size_t>(1, most * (layout.counts.size() - 1));
    const std::size_t elements = half_bytes / sizeof(float) / pieces & ~std::size_t{15};
    if (elements > 0) return elements;
    throw Error(Category::resource, fmt::format("{} ranks are too many for shared memory; use "
                                                "transport messages",
                                                layout.counts.size()));
  }

  void record_round(Stream& stream, std::size_t round) override {
    stream.call([this, round] { transfer_round(round); }, Phase::reduce);
  }
  void end(Stream& stream) override {
    stream.call([this] { windows_.end_use(); }, Phase::reduce);
  }

  void transfer_round(std::size_t round) {
    const InCollective in(windows_.watch(), Collective::sum, Group::host,
                          layout_.inputs() * chunk() * sizeof(float));
    const auto stage = [this](std::size_t staged) {
      windows_.stage([&](std::byte* half) { stage_partials(staged, reinterpret_cast<float*>(half)); });
    };
    if (round == 0) {
      stage(0);
    } else {
      windows_.end_use();
    }
    if (round + 1 < rounds()) stage(round + 1);
    windows_.begin_use();
    find_inputs(round);
  }

  /// Position of `rank`'s piece in the window of `holder`, which has no piece for `holder` itself.
  static std::size_t piece(std::size_t rank, std::size_t holder) { return rank < holder ? rank : rank - 1; }

  void stage_partials(std::size_t round, float* pieces) const {
    for (std::size_t owner = 0; owner < layout_.counts.size(); ++owner) {
      const std::size_t bytes = length(owner, round) * sizeof(float);
      if (owner == rank_ || bytes == 0) continue;
      float* to = pieces + piece(owner, rank_) * layout_.own.size() * chunk();
      for (const float* partial : layout_.own) {
        std::memcpy(to, partial + begin(owner, round), bytes);
        to += chunk();
      }
    }
  }

  void find_inputs(std::size_t round) {
    auto input = inputs(round).begin();
    for (std::size_t peer = 0; peer < layout_.counts.size(); ++peer) {
      if (peer == rank_) {
        for (const float* partial : layout_.own) *input++ = partial + begin(rank_, round);
        continue;
      }
      const auto* pieces = reinterpret_cast<const float*>(windows_.staged_by(peer));
      const std::size_t first = piece(rank_, peer) * layout_.counts[peer];
      for (std::size_t i = 0; i < layout_.counts[peer]; ++i) {
        *input++ = pieces + (first + i) * chunk();
      }
    }
  }

  SharedWindows& windows_;
};

/// Arenas of all ranks. A rank's arenas occupy `bytes` bytes from offset rank * stride. Stride 0: all ranks
/// share one arena.
struct SharedArenas {
  std::unique_ptr<SharedMemory> memory;
  std::size_t bytes;
  std::size_t stride;

  std::byte* of(std::size_t rank) const { return memory->data() + rank * stride; }
};

std::size_t whole_pages(std::size_t elements) {
  constexpr std::size_t page = 4096;
  return (elements * sizeof(float) + page - 1) / page * page;
}

class SharedMemoryCommunicator final : public Communicator {
 public:
  SharedMemoryCommunicator(std::unique_ptr<SharedWindows> windows, const MpiGroup& host, Watch& watch)
      : watch_(watch),
        windows_(std::move(windows)),
        group_(
            watch.during(Collective::start, Group::host, 0, [&] { return MpiGroup::duplicate(host.get()); })),
        rank_(static_cast<std::size_t>(host.rank())),
        size_(static_cast<std::size_t>(host.size())) {}

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

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    std::vector<std::uint64_t> own;
    for (const float* partial : layout.own) own.push_back(place_of(partial));
    const std::vector<std::uint64_t> places =
        all_gather_numbers(own, {layout.counts.begin(), layout.counts.end()});
    if (std::ranges::find(places, not_shared) != places.end()) {
      return std::make_unique<WindowSums>(*windows_, rank_, layout);
    }
    std::vector<const float*> partials;
    auto place = places.begin();
    for (std::size_t rank = 0; rank < size_; ++rank) {
      for (std::uint32_t i = 0; i < layout.counts[rank]; ++i) {
        partials.push_back(reinterpret_cast<const float*>(address_of(*place++, rank)));
      }
    }
    return std::make_unique<SumsInPlace>(rank_, layout.slices, layout.slices.back(), partials,
                                         call_in_each_run([this] { barrier(); }));
  }

  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    const std::vector<std::uint64_t> places =
        all_gather_numbers({place_of(all.data())}, std::vector<std::size_t>(size_, 1));
    std::vector<std::size_t> own_bounds(bounds.begin(), bounds.end());
    if (std::ranges::find(places, not_shared) != places.end()) {
      return call_in_each_run([this, all = all.data(), bounds = std::move(own_bounds)] {
        gather_through(*windows_, Collective::gather, rank_, all + bounds[rank_], all, bounds);
      });
    }
    const bool common =
        std::ranges::all_of(places, [&](std::uint64_t place) { return place == places[0]; }) &&
        arenas_[places[0] >> offset_bits].stride == 0;
    if (common) return call_in_each_run([this] { barrier(); });
    std::vector<std::byte*> of_ranks;  // address in this process of every rank's `all`
    for (std::size_t rank = 0; rank < size_; ++rank) of_ranks.push_back(address_of(places[rank], rank));
    return call_in_each_run([this, of_ranks = std::move(of_ranks), bounds = std::move(own_bounds)] {
      barrier();
      for (std::size_t step = 1; step < size_; ++step) {
        const std::size_t peer = (rank_ + step) % size_;
        std::memcpy(of_ranks[rank_] + bounds[peer], of_ranks[peer] + bounds[peer],
                    bounds[peer + 1] - bounds[peer]);
      }
      barrier();  // until then, peers may still read memory that the next step overwrites
    });
  }

  AllReduce plan_all_reduce(std::span<float> values) override {
    return plan_mpi_all_reduce(group_, watch_, values);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    offsets_.assign(size_ + 1, 0);
    std::partial_sum(bytes.begin(), bytes.end(), offsets_.begin() + 1);
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(offsets_[rank_]));
    gather_through(*windows_, Collective::all_gather, rank_, own.data(), all.data(), offsets_);
  }

  void barrier() override { windows_->barrier(); }

 private:
  /// This rank's part of new shared memory, or null. Collective.
  std::byte* add_arenas(std::size_t bytes, std::size_t stride) {
    if (bytes == 0) return nullptr;
    const InCollective in(watch_, Collective::share_memory, Group::host);
    auto memory = SharedMemory::create(group_, stride == 0 ? bytes : size_ * stride);
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

  /// A place encodes an address in a rank's shared arenas so that every rank can translate it: the number of
  /// the arena, then the offset.
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
  std::byte* address_of(std::uint64_t place, std::size_t rank) const {
    const std::uint64_t offset = place & ((std::uint64_t{1} << offset_bits) - 1);
    return arenas_[place >> offset_bits].of(rank) + offset;
  }

  Watch& watch_;
  std::unique_ptr<SharedWindows> windows_;
  std::vector<SharedArenas> arenas_;
  MpiGroup group_;
  std::size_t rank_, size_;
  std::vector<std::size_t> offsets_;
};

}  // namespace

std::unique_ptr<Communicator> make_shared_memory_communicator(const MpiGroup& host, Watch& watch) {
  auto windows = SharedWindows::create(host, watch);
  if (windows == nullptr) return nullptr;
  return std::make_unique<SharedMemoryCommunicator>(std::move(windows), host, watch);
}

}  // namespace lockstep
