#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "comm/communicator.h"
#include "device/cpu/cpu_device.h"
#include "emulation/graph_device.h"
#include "reduce/gradients.h"

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

/// What the owner makes of the partial sums: their sum in the order of ranks.
inline std::vector<float> expected_results(const ExchangeCase& c, int run) {
  std::vector<float> results(c.elements());
  for (int rank = 0; rank < c.ranks(); ++rank) {
    for (std::size_t i = 0; i < c.counts[static_cast<std::size_t>(rank)]; ++i) {
      for (std::size_t e = 0; e < results.size(); ++e) results[e] += partial_sum(rank, i, run, e);
    }
  }
  return results;
}

/// Gives `work` to the stream of a device: a GPU runs it later, again and again.
inline void launch(Stream& stream, const std::function<void()>& work) {
  if (auto* graph = dynamic_cast<GraphStream*>(&stream)) {
    graph->launch(work);
  } else {
    work();
  }
}

/// How a rank does an exchange.
enum class Calls {
  one,     ///< partial sums and results in one
  halves,  ///< partial sums, then results
};

/// One rank of a case: its device's arenas and a program that exchanges them.
class ExchangingRank {
 public:
  ExchangingRank(const ExchangeCase& c, Communicator& communicator, Device& device, Calls calls)
      : case_(c), communicator_(communicator), device_(device), rank_(communicator.rank()) {
    const std::size_t bytes = c.elements() * sizeof(float);
    arenas_ = allocate_arenas(communicator, device, c.counts[static_cast<std::size_t>(rank_)], c.elements());
    results_ = device.allocate(bytes);
    for (const Buffer& arena : arenas_) sums_.own.push_back(arena.floats().data());
    sums_.counts = c.counts;
    sums_.slices = c.slices;
    both_ = sums_;
    both_.results = results_.floats();
    only_results_ = both_;
    only_results_.own.clear();
    only_results_.counts.assign(c.counts.size(), 0);
    Stream& stream = *device.streams()[0];
    program_ = device.record([&, calls] {
      stream.enqueue([this, calls] { calls == Calls::one ? exchange() : exchange_halves(); });
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

  int uses = 0;  ///< calls with a part of the own slice

 private:
  void exchange() {
    communicator_.exchange(both_,
                           [&](std::span<const float* const> inputs, std::size_t begin, std::size_t end) {
                             add({inputs.begin(), inputs.end()}, both_.results.data() + begin, end - begin);
                           });
  }
  void exchange_halves() {
    communicator_.exchange(sums_,
                           [&](std::span<const float* const> inputs, std::size_t begin, std::size_t end) {
                             add({inputs.begin(), inputs.end()}, both_.results.data() + begin, end - begin);
                           });
    communicator_.exchange(only_results_, [](std::span<const float* const> inputs, std::size_t, std::size_t) {
      EXPECT_TRUE(inputs.empty());
    });
  }
  void add(const std::vector<const float*>& inputs, float* to, std::size_t count) {
    ++uses;
    launch(*device_.streams()[0], [inputs, to, count] {
      std::fill_n(to, count, 0.0F);
      for (const float* input : inputs) std::transform(to, to + count, input, to, std::plus<>());
    });
  }

  const ExchangeCase& case_;
  Communicator& communicator_;
  Device& device_;
  int rank_;
  std::vector<Buffer> arenas_;
  Buffer results_;
  PartialSums both_, sums_, only_results_;
  std::unique_ptr<Program> program_;
};

/// One of 5 ranks gathers and reduces what is in its device's memory, twice.
inline void expect_gathers_and_reduces(Communicator& communicator, GraphDevice& gpu) {
  constexpr int ranks = 5;
  const int rank = communicator.rank();
  const auto length = [](int r) { return static_cast<std::size_t>(r * 3 % 4); };
  const Buffer own = gpu.allocate(16), all = gpu.allocate(6), sum = gpu.allocate(ranks * sizeof(float));
  std::unique_ptr<Program> program;
  {
    std::vector<std::size_t> lengths;
    for (int r = 0; r < ranks; ++r) lengths.push_back(length(r));
    program = gpu.record([&] {
      communicator.all_gather_bytes({own.data(), length(rank)}, lengths, {all.data(), 6});
      communicator.all_reduce(sum.floats());
      communicator.barrier();
    });
  }
  for (int run = 0; run < 2; ++run) {
    const std::vector<char> bytes(16, static_cast<char>('a' + rank + 5 * run));
    std::vector<float> floats(ranks, static_cast<float>(rank + run));
    gpu.copy(own.data(), bytes.data(), 16);
    gpu.copy(sum.data(), floats.data(), sum.bytes());
    program->run();
    std::string gathered(6, ' ');
    gpu.copy(gathered.data(), all.data(), 6);
    gpu.copy(floats.data(), sum.data(), sum.bytes());
    EXPECT_EQ(gathered, run == 0 ? "bbbccd" : "ggghhi");
    EXPECT_EQ(floats, std::vector<float>(ranks, static_cast<float>(10 + ranks * run)));
  }
}

}  // namespace lockstep
