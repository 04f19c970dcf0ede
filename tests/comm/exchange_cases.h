#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "comm/communicator.h"
#include "device/cpu/cpu_device.h"
#include "gradient/gradients.h"

namespace lockstep {

/// Arenas that ranks exchange. Rank r has `counts[r]` partial sums.
struct ExchangeCase {
  Slices slices;
  std::vector<std::uint32_t> counts;

  std::size_t elements() const { return slices.back(); }
  int ranks() const { return static_cast<int>(counts.size()); }
};

inline std::ostream& operator<<(std::ostream& out, const ExchangeCase& c) {
  return out << c.ranks() << " ranks, " << c.elements() << " elements, rank 0 owns " << c.slices[1];
}

/// Cases with even slices or all elements at the last rank, with and without ranks that have no partial sums.
inline std::vector<ExchangeCase> exchange_cases(int ranks, std::size_t elements) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<ExchangeCase> cases;
  std::vector<std::uint32_t> uneven;
  for (std::uint32_t rank = 0; rank < size; ++rank) uneven.push_back((rank + 1) % 3);
  Slices at_last(size + 1, 0);
  at_last.back() = elements;
  for (const auto& counts : {std::vector<std::uint32_t>(size, 1), uneven}) {
    cases.push_back({even_slices(elements, ranks), counts});
    cases.push_back({at_last, counts});
  }
  return cases;
}

inline float partial_sum(int rank, std::size_t number, int run, std::size_t element) {
  return gradient(static_cast<std::uint32_t>(rank * 64 + run * 8) + static_cast<std::uint32_t>(number),
                  element);
}

/// Expected results: the sum of all partial sums in rank order.
inline std::vector<float> expected_results(const ExchangeCase& c, int run) {
  std::vector<float> results(c.elements());
  for (int rank = 0; rank < c.ranks(); ++rank) {
    for (std::size_t i = 0; i < c.counts[static_cast<std::size_t>(rank)]; ++i) {
      for (std::size_t e = 0; e < results.size(); ++e) results[e] += partial_sum(rank, i, run, e);
    }
  }
  return results;
}

inline Stream& stream_of(Device& device) { return *device.streams()[0]; }

/// Submits work to a stream, as comm/launch.h does for streams of a device.
using Submit = void (*)(Stream& stream, std::function<void()> work);
inline void call_on_host(Stream& stream, std::function<void()> work) {
  stream.call(std::move(work), Phase::reduce);
}

enum class Memory {
  own,     ///< private to the process
  shared,  ///< arenas that peers can access, if the transport supports them
  common,  ///< same as `shared`, with one arena of results for all ranks
};

/// Device memory for results. `common`: shared by all ranks of a host, if possible.
inline Buffer allocate_results(Communicator& communicator, Device& device, std::size_t bytes, Memory memory) {
  Buffer arena;
  if (memory == Memory::common) arena = communicator.common_arena(bytes / sizeof(float) + 1);
  return arena.data() != nullptr ? std::move(arena) : device.allocate(bytes);
}

/// One rank of a case: its arenas on the device, and a program that sums them and gathers the results.
class ExchangingRank {
 public:
  ExchangingRank(const ExchangeCase& c, Communicator& communicator, Device& device,
                 Submit submit = call_on_host, Memory memory = Memory::shared)
      : case_(c), communicator_(communicator), device_(device), submit_(submit), memory_(memory) {
    const std::size_t count = c.counts[rank_];
    if (memory != Memory::own) {
      arenas_ = allocate_arenas(communicator, device, count, c.elements());
    } else {
      for (std::size_t i = 0; i < count; ++i)
        arenas_.push_back(device.allocate(c.elements() * sizeof(float)));
    }
    results_ = allocate_results(communicator, device, c.elements() * sizeof(float), memory);
    const std::span<float> results = results_.floats().first(c.elements());
    SumLayout layout{.own = {}, .counts = c.counts, .slices = c.slices};
    for (const Buffer& arena : arenas_) layout.own.push_back(arena.floats().data());
    sums_ = communicator.plan_sum(std::move(layout));
    gather_ = plan_arena_gather(communicator, results, c.slices);
    program_ = device.record([this] {
      Stream& stream = stream_of(device_);
      chunks = 0;
      std::size_t next = case_.slices[rank_];
      while (const auto chunk = sums_->next(stream)) {
        EXPECT_TRUE(chunk->begin == next && chunk->end > next) << "chunks are consecutive";
        next = chunk->end;
        add(stream, *chunk);
      }
      EXPECT_EQ(next, case_.slices[rank_ + 1]) << "the whole slice was exchanged";
      gather_(stream);
    });
  }

  /// Runs on fresh partial sums and returns the results.
  std::vector<float> run(int number) {
    std::vector<float> values(case_.elements());
    for (std::size_t i = 0; i < arenas_.size(); ++i) {
      for (std::size_t e = 0; e < values.size(); ++e) {
        values[e] = partial_sum(static_cast<int>(rank_), i, number, e);
      }
      device_.copy(arenas_[i].data(), values.data(), values.size() * sizeof(float));
    }
    program_->run();
    device_.copy(values.data(), results_.data(), values.size() * sizeof(float));
    if (memory_ == Memory::common) communicator_.barrier();  // other ranks may still read the results
    return values;
  }

  int chunks = 0;  ///< chunks per step

 private:
  /// Sums the chunk. Afterwards this rank's partial sums may be overwritten.
  void add(Stream& stream, const SumChunk& chunk) {
    ++chunks;
    submit_(stream, [this, chunk] {
      float* const to = results_.floats().data() + chunk.begin;
      std::fill_n(to, chunk.size(), 0.0F);
      for (const float* input : chunk.inputs) std::transform(to, to + chunk.size(), input, to, std::plus<>());
      for (const Buffer& arena : arenas_)
        std::fill_n(arena.floats().data() + chunk.begin, chunk.size(), -1.0F);
    });
  }

  const ExchangeCase& case_;
  Communicator& communicator_;
  Device& device_;
  const Submit submit_;
  const Memory memory_;
  const std::size_t rank_ = static_cast<std::size_t>(communicator_.rank());
  std::vector<Buffer> arenas_;
  Buffer results_;
  std::unique_ptr<SumExchange> sums_;
  Gather gather_;
  std::unique_ptr<Program> program_;
};

/// Gathers and reduces data in the rank's device memory, twice.
inline void expect_gathers_and_reduces(Communicator& communicator, Device& device,
                                       Memory memory = Memory::own) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  std::vector<std::size_t> bounds{0}, lengths;
  for (std::size_t r = 0; r < ranks; ++r) {
    lengths.push_back(r * 5 % 7);
    bounds.push_back(bounds.back() + lengths.back());
  }
  const std::size_t bytes = bounds.back();
  const Buffer all = allocate_results(communicator, device, bytes, memory);
  const Buffer sum = device.allocate(1000 * sizeof(float));
  const auto gather = communicator.plan_gather({all.data(), bytes}, bounds);
  const auto reduce = communicator.plan_all_reduce(sum.floats());
  bounds.clear();  // plans keep copies
  const auto program = device.record([&] {
    Stream& stream = stream_of(device);
    gather(stream);
    reduce.start(stream);
    reduce.finish(stream);
  });
  for (std::size_t run = 0; run < 2; ++run) {
    std::string expected;
    std::size_t own = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r == rank) own = expected.size();
      expected += std::string(lengths[r], static_cast<char>('a' + r + ranks * run));
    }
    std::vector<float> floats(1000);
    std::iota(floats.begin(), floats.end(), static_cast<float>(rank + run));
    device.copy(all.data() + own, expected.data() + own, lengths[rank]);
    device.copy(sum.data(), floats.data(), sum.bytes());
    program->run();
    std::string gathered(bytes, ' ');
    device.copy(gathered.data(), all.data(), bytes);
    device.copy(floats.data(), sum.data(), sum.bytes());
    EXPECT_EQ(gathered, expected);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      const std::size_t sum_of_ranks = ranks * (i + run) + ranks * (ranks - 1) / 2;
      EXPECT_EQ(floats[i], static_cast<float>(sum_of_ranks));
    }
    communicator.barrier();  // other ranks may still read the gathered data
    // This variant works in host memory and is complete on return.
    std::string concatenated(bytes, ' ');
    communicator.all_gather_bytes(std::as_bytes(std::span(expected).subspan(own, lengths[rank])), lengths,
                                  std::as_writable_bytes(std::span(concatenated)));
    EXPECT_EQ(concatenated, expected);
  }
}

}  // namespace lockstep
