#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "comm/communicator.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "fake_cuda/fake_cuda.h"
#include "gradient/gradients.h"

namespace lockstep {

/// Arenas that ranks exchange: `counts[rank]` partial sums each.
struct ExchangeCase {
  Slices slices;
  std::vector<std::uint32_t> counts;

  std::size_t elements() const { return slices.back(); }
  int ranks() const { return static_cast<int>(counts.size()); }
};

inline std::ostream& operator<<(std::ostream& out, const ExchangeCase& c) {
  return out << c.ranks() << " ranks, " << c.elements() << " elements, rank 0 owns " << c.slices[1];
}

/// Even slices and all elements at the last rank, with and without ranks that have no partial sums.
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

/// Results of the owner: the sum of the partial sums in the order of ranks.
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

/// Gives `work` to the stream of a device.
inline void launch(Stream& stream, std::function<void()> work) {
  if (dynamic_cast<cuda::CudaStream*>(&stream) != nullptr) {
    fake_cuda::launch(cuda::handle_of(stream), "work", {}, std::move(work));
  } else {
    stream.call(std::move(work), Phase::reduce);
  }
}

/// One rank of a case: its device's arenas and a program that sums them and gathers the results.
class ExchangingRank {
 public:
  ExchangingRank(const ExchangeCase& c, Communicator& communicator, Device& device)
      : case_(c), device_(device), rank_(communicator.rank()) {
    arenas_ = allocate_arenas(communicator, device, c.counts[static_cast<std::size_t>(rank_)], c.elements());
    results_ = device.allocate(c.elements() * sizeof(float));
    SumLayout layout{.own = {}, .counts = c.counts, .slices = c.slices};
    for (const Buffer& arena : arenas_) layout.own.push_back(arena.floats().data());
    sums_ = communicator.plan_sum(std::move(layout));
    gather_ = plan_arena_gather(communicator, results_.floats(), c.slices);
    program_ = device.record([this] {
      Stream& stream = stream_of(device_);
      chunks = 0;
      while (const auto chunk = sums_->next(stream)) add(stream, *chunk);
      gather_(stream);
    });
  }

  /// The results after a run on fresh partial sums.
  std::vector<float> run(int number) {
    std::vector<float> values(case_.elements());
    for (std::size_t i = 0; i < arenas_.size(); ++i) {
      for (std::size_t e = 0; e < values.size(); ++e) values[e] = partial_sum(rank_, i, number, e);
      device_.copy(arenas_[i].data(), values.data(), values.size() * sizeof(float));
    }
    program_->run();
    device_.copy(values.data(), results_.data(), values.size() * sizeof(float));
    return values;
  }

  int chunks = 0;  ///< of a step

 private:
  void add(Stream& stream, const SumChunk& chunk) {
    ++chunks;
    launch(stream, [chunk, to = results_.floats().data() + chunk.begin] {
      std::fill_n(to, chunk.size(), 0.0F);
      for (const float* input : chunk.inputs) std::transform(to, to + chunk.size(), input, to, std::plus<>());
    });
  }

  const ExchangeCase& case_;
  Device& device_;
  int rank_;
  std::vector<Buffer> arenas_;
  Buffer results_;
  std::unique_ptr<SumExchange> sums_;
  Gather gather_;
  std::unique_ptr<Program> program_;
};

/// One of 5 ranks gathers and reduces what is in its device's memory, twice.
inline void expect_gathers_and_reduces(Communicator& communicator, Device& device) {
  constexpr std::size_t ranks = 5;
  const auto rank = static_cast<std::size_t>(communicator.rank());
  std::vector<std::size_t> bounds{0};
  for (std::size_t r = 0; r < ranks; ++r) bounds.push_back(bounds.back() + r * 3 % 4);
  const Buffer all = device.allocate(6), sum = device.allocate(ranks * sizeof(float));
  const auto gather = communicator.plan_gather({all.data(), 6}, bounds);
  const auto reduce = communicator.plan_all_reduce(sum.floats());
  bounds.clear();  // plans have their own
  const auto program = device.record([&] {
    Stream& stream = stream_of(device);
    gather(stream);
    reduce.start(stream);
    reduce.finish(stream);
  });
  for (int run = 0; run < 2; ++run) {
    const std::vector<char> bytes(6, static_cast<char>('a' + static_cast<int>(rank) + 5 * run));
    std::vector<float> floats(ranks, static_cast<float>(static_cast<int>(rank) + run));
    device.copy(all.data(), bytes.data(), 6);
    device.copy(sum.data(), floats.data(), sum.bytes());
    program->run();
    std::string gathered(6, ' ');
    device.copy(gathered.data(), all.data(), 6);
    device.copy(floats.data(), sum.data(), sum.bytes());
    EXPECT_EQ(gathered, run == 0 ? "bbbccd" : "ggghhi");
    EXPECT_EQ(floats, std::vector<float>(ranks, static_cast<float>(10 + static_cast<int>(ranks) * run)));
  }
  // Done on return, in the host's memory.
  std::vector<char> own(rank, static_cast<char>('a' + rank)), concatenated(10);
  const std::vector<std::size_t> lengths{0, 1, 2, 3, 4};
  communicator.all_gather_bytes(std::as_bytes(std::span(own)), lengths,
                                std::as_writable_bytes(std::span(concatenated)));
  EXPECT_EQ(std::string(concatenated.begin(), concatenated.end()), "bccdddeeee");
  communicator.barrier();
}

}  // namespace lockstep
