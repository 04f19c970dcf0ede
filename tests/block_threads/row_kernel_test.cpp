// Kernels with the threads of a block on threads of the host, for the thread sanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "block_threads/kernel_results.h"
#include "device/cuda/native/launch.h"
#include "fake_cuda/fake_cuda.h"

#if defined(__SANITIZE_THREAD__)
#define LOCKSTEP_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_THREAD_SANITIZER
#endif
#endif

namespace lockstep::cuda {
namespace {

/// Sums the two columns of a matrix.
struct SumColumns {
  using Sum = double;
  using Result = double;
  static constexpr unsigned ahead = 2;
  struct Place {
    unsigned lane;
  };
  const float* values;
  std::size_t count;

  unsigned lanes() const { return 2; }
  Place place(std::size_t /*row*/, unsigned lane) const { return {lane}; }
  std::size_t terms(const Place& /*at*/) const { return count; }
  float load(const Place& at, std::size_t k) const { return values[2 * k + at.lane]; }
  double term(const Place& /*at*/, std::size_t /*k*/, float loaded) const { return loaded; }
  double finish(const Place& /*at*/, double sum) const { return sum; }
};

/// Writes value + sum of its column.
struct AddSums {
  static constexpr unsigned ahead = 2;
  struct Place {
    unsigned lane;
    double sum;
  };
  const float* values;
  double* results;
  std::size_t count;

  unsigned lanes() const { return 2; }
  Place place(std::size_t /*row*/, unsigned lane, const double* sums) const { return {lane, sums[lane]}; }
  std::size_t terms(const Place& /*at*/) const { return count; }
  float load(const Place& at, std::size_t k) const { return values[2 * k + at.lane]; }
  void store(const Place& at, std::size_t k, float loaded) const {
    results[2 * k + at.lane] = loaded + at.sum;
  }
};

/// Lets the threads of blocks run at once.
struct AtOnce {
  AtOnce() { fake_cuda::set_threads(fake_cuda::Threads::at_once); }
  ~AtOnce() { fake_cuda::set_threads(fake_cuda::Threads::ascending); }
};

constexpr std::size_t count = 600;

/// Results for the integers 0, 1, ...
std::vector<double> add_sums(std::size_t rows = 1) {
  const AtOnce at_once;
  std::vector<float> values(2 * count);
  std::iota(values.begin(), values.end(), 0.0F);
  std::vector<double> results(values.size());
  for_each_row(nullptr, rows, SumColumns{values.data(), count},
               AddSums{values.data(), results.data(), count});
  return results;
}

TEST(RowKernel, PassesSumsOnToAllThreads) {
  const std::vector<double> results = add_sums(3);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::size_t sum = count * (count - 1) + (i % 2) * count;
    ASSERT_EQ(results[i], static_cast<double>(i + sum)) << i;
  }
}

TEST(RowKernel, WaitsFourTimes) {
  add_sums();
  EXPECT_EQ(fake_cuda::barriers_of_block(), 4U);
}

/// Writes each element from two threads.
struct WriteTwice {
  float* values;
  void operator()(std::size_t i) const { values[i / 2] = 1.0F; }
};

/// Kernels of the program, by the names of kernel_results.
class Kernels : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Values("batch_norm", "batch_norm_in_evaluation", "cross_entropy",
                                         "group_norm", "finish_gradients", "norms", "choose_samples"),
                         [](const auto& with) { return with.param; });

std::vector<std::vector<float>> results_at_once(const std::string& kernels) {
  const AtOnce at_once;
  return kernel_results(kernels);
}

TEST_P(Kernels, HaveTheSameBitsWhereThreadsRunInTurn) {
  const auto results = results_at_once(GetParam()), expected = kernel_results(GetParam());
  ASSERT_FALSE(results.empty());
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i], expected[i]) << "result " << i;
    EXPECT_TRUE(std::ranges::any_of(results[i], [](float value) { return value != 0.0F; })) << "result " << i;
  }
}

#ifdef LOCKSTEP_THREAD_SANITIZER
/// Expects that the sanitizer finds a race in `work`, which runs in a process of its own.
template <class Work>
void expect_race(const Work& work, const std::string& where) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        work();
        std::exit(0);  // the sanitizer replaces this status
      },
      testing::ExitedWithCode(66), "data race")
      << where;
}

TEST(RowKernel, NeedsEachOfItsBarriers) {
  for (int barrier = 0; barrier < 4; ++barrier) {
    const auto without = [&] {
      fake_cuda::leave_out_barrier(barrier);
      add_sums();
    };
    expect_race(without, "without barrier " + std::to_string(barrier));
  }
}

TEST(EachKernel, NeedsElementsOfItsOwn) {
  std::vector<float> values(512);
  expect_race(
      [&] {
        const AtOnce at_once;
        for_each(nullptr, values.size(), WriteTwice{values.data()});
      },
      "two threads an element");
}

/// Kernels without sums have no barriers.
TEST_P(Kernels, NeedTheBarriersOfTheirSums) {
  if (GetParam() == "batch_norm_in_evaluation") return;
  const auto without = [&] {
    fake_cuda::leave_out_barrier(1);
    results_at_once(GetParam());
  };
  expect_race(without, "without barrier 1");
}
#endif

}  // namespace
}  // namespace lockstep::cuda
