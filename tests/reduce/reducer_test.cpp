#include "reduce/reducer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>

#include "lockstep/error.h"
#include "reduce/gradients.h"
#include "reduce/thread_ranks.h"

namespace lockstep {
namespace {

using Make = std::unique_ptr<Reducer> (*)(Communicator&, ReducerOptions);
struct Case {
  int ranks;
  int executors;
  std::uint32_t leaves;
  std::size_t elements;
};

/// Every rank's parameters after two steps of parameters += sum, the second in two halves.
std::vector<std::vector<float>> run(Make make, const Case& c) {
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(c.ranks),
                                             std::vector<float>(c.elements, 1.0f));
  run_as_ranks(c.ranks, [&](Communicator& communicator) {
    std::vector<float>& own = parameters[static_cast<std::size_t>(communicator.rank())];
    RankGradients gradients(c.leaves, c.ranks, communicator.rank(), c.executors, own);
    const auto reducer = make(communicator, gradients.options());
    for (int step = 0; step < 2; ++step) {
      std::size_t next = reducer->owned().first;
      const Reducer::Apply add = [&](std::size_t begin, std::span<const float> sum) {
        EXPECT_EQ(begin, next);
        next += sum.size();
        for (std::size_t i = 0; i < sum.size(); ++i) own[begin + i] += sum[i];
      };
      if (step == 0) {
        reducer->reduce(add);
      } else {
        EXPECT_EQ(reducer->sum().size(), reducer->owned().second - reducer->owned().first);
        reducer->apply_sum(add);
      }
      EXPECT_EQ(next, reducer->owned().second);
      gradients.compute_again();
    }
  });
  return parameters;
}

std::vector<float> reference(const Case& c) {
  std::vector<float> parameters(c.elements, 1.0f);
  for (std::size_t e = 0; e < c.elements; ++e) {
    const float sum = reference_sum(0, c.leaves, e);
    parameters[e] = parameters[e] + sum + sum;
  }
  return parameters;
}

void expect_reference(const Case& c) {
  const std::vector<float> expected = reference(c);
  for (const std::vector<float>& parameters : run(make_canonical_reducer, c)) {
    EXPECT_EQ(std::memcmp(parameters.data(), expected.data(), c.elements * sizeof(float)), 0)
        << c.ranks << " ranks, " << c.executors << " executors, " << c.leaves << " leaves, " << c.elements;
  }
}

TEST(CanonicalReducer, GivesTheSameBitsOnAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::uint32_t leaves : {8u, 13u, 16u}) {
      for (const std::size_t elements : {1u, 15u, 16u, 17u, 1000u}) {
        expect_reference({ranks, 1, leaves, elements});
      }
    }
  }
}

TEST(CanonicalReducer, GivesTheSameBitsForLargeArenas) {
  for (const int ranks : {1, 2, 3, 7, 8}) expect_reference({ranks, 1, 16, 100003});
}

TEST(CanonicalReducer, GivesTheSameBitsOnAnyNumberOfExecutors) {
  for (const int ranks : {1, 2, 3}) {
    for (const int executors : {2, 3, 5, 9}) expect_reference({ranks, executors, 16, 4099});
  }
}

TEST(CanonicalReducer, TakesRanksWithoutLeaves) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (const std::uint32_t leaves : {1u, 2u, 3u, 5u}) expect_reference({ranks, 2, leaves, 1000});
  }
}

TEST(CanonicalReducer, SumsAreThoseOfDoublePrecision) {
  const Case c{3, 1, 16, 1000};
  const std::vector<float> parameters = run(make_canonical_reducer, c)[1];
  for (std::size_t e = 0; e < c.elements; ++e) {
    double sum = 0, magnitude = 1;
    for (std::uint32_t leaf = 0; leaf < c.leaves; ++leaf) {
      sum += gradient(leaf, e);
      magnitude += std::abs(gradient(leaf, e));
    }
    EXPECT_NEAR(parameters[e], 1 + 2 * sum, magnitude * 2e-6);
  }
}

TEST(CanonicalReducer, OwnsSlicesThatTileTheArena) {
  std::mutex mutex;
  std::vector<std::pair<std::size_t, std::size_t>> owned(5);
  run_as_ranks(5, [&](Communicator& communicator) {
    std::vector<float> parameters(1000);
    RankGradients gradients(5, 5, communicator.rank(), 1, parameters);
    const auto reducer = make_canonical_reducer(communicator, gradients.options());
    const std::lock_guard lock(mutex);
    owned[static_cast<std::size_t>(communicator.rank())] = reducer->owned();
  });
  EXPECT_EQ(owned.front().first, 0u);
  EXPECT_EQ(owned.back().second, 1000u);
  for (std::size_t i = 1; i < owned.size(); ++i) EXPECT_EQ(owned[i].first, owned[i - 1].second);
}

TEST(CanonicalReducer, OwnsTheSlicesThatItIsGiven) {
  run_as_ranks(3, [&](Communicator& communicator) {
    std::vector<float> parameters(1000);
    RankGradients gradients(5, 3, communicator.rank(), 1, parameters);
    ReducerOptions options = gradients.options();
    options.slices = {0, 976, 976, 1000};
    const auto reducer = make_canonical_reducer(communicator, options);
    const auto rank = static_cast<std::size_t>(communicator.rank());
    EXPECT_EQ(reducer->owned(), std::pair(options.slices[rank], options.slices[rank + 1]));
    reducer->sum();
    reducer->apply_sum([&](std::size_t begin, std::span<const float> sum) {
      std::ranges::copy(sum, parameters.begin() + static_cast<std::ptrdiff_t>(begin));
    });
    for (std::size_t e = 0; e < 1000; ++e) EXPECT_EQ(parameters[e], reference_sum(0, 5, e));
  });
}

TEST(CanonicalReducer, RejectsPartialSumsOfOtherLeaves) {
  const auto communicator = make_self_communicator();
  std::vector<float> parameters(16);
  RankGradients gradients(4, 1, 0, 1, parameters);
  ReducerOptions options = gradients.options();
  options.partials.clear();
  EXPECT_THROW(make_canonical_reducer(*communicator, options), Error);
  options.assignment = assign(0, 1, 0, 1);
  EXPECT_THROW(make_canonical_reducer(*communicator, options), Error);
}

TEST(RingReducer, IsCloseToTheCanonicalSum) {
  for (const int ranks : {1, 2, 3, 8}) {
    const Case c{ranks, 2, 5, 1000};
    const std::vector<float> expected = reference(c);
    for (const std::vector<float>& parameters : run(make_ring_reducer, c)) {
      for (std::size_t e = 0; e < c.elements; ++e) EXPECT_NEAR(parameters[e], expected[e], 1e-2);
    }
  }
}

/// Bits of the ring are those of its parts; what is begun early changes none.
TEST(RingReducer, SumsBucketsThatAreReady) {
  constexpr std::size_t elements = 1000;
  for (const int ranks : {1, 2, 3, 8}) {  // 8 of 5 leaves: ranks without any
    std::vector<std::vector<float>> sums(3 * static_cast<std::size_t>(ranks));
    run_as_ranks(ranks, [&](Communicator& communicator) {
      std::vector<float> parameters(elements);
      RankGradients gradients(5, ranks, communicator.rank(), 1, parameters);
      ReducerOptions options = gradients.options();
      options.buckets = {0, 160, 480, 800};
      const auto reducer = make_ring_reducer(communicator, options);
      for (std::size_t step = 0; step < 3; ++step) {
        EXPECT_EQ(reducer->awaits(), 800U);
        if (step > 0) {
          reducer->ready(801);
          EXPECT_EQ(reducer->awaits(), 800U);
          reducer->ready(400);
          EXPECT_EQ(reducer->awaits(), 160U);
        }
        if (step > 1) reducer->ready(0);
        const std::span<const float> sum = reducer->sum();
        sums[step * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(communicator.rank())].assign(
            sum.begin(), sum.end());
        gradients.compute_again();
      }
    });
    for (const std::vector<float>& sum : sums) EXPECT_EQ(sum, sums.front());
    for (std::size_t e = 0; e < elements; ++e) EXPECT_NEAR(sums[0][e], reference_sum(0, 5, e), 1e-2);
  }
}

}  // namespace
}  // namespace lockstep
