// Kernels of src/device/cuda/native/launch.h on threads of the host, for the thread sanitizer.
#define LOCKSTEP_BLOCK_THREADS
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "block_threads/block_threads.h"
#include "block_threads/kernel_results.h"
#include "device/cuda/launch.h"

#if defined(__SANITIZE_THREAD__)
#define LOCKSTEP_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_THREAD_SANITIZER
#endif
#endif

namespace lockstep_loops {
std::vector<std::vector<float>> kernel_results();
}

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

constexpr std::size_t count = 600;

/// Results for the integers 0, 1, ...
std::vector<double> add_sums(std::size_t rows = 1) {
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

TEST(RowKernel, GivesTheBitsOfTheLoops) {
  const auto results = kernel_results(), expected = lockstep_loops::kernel_results();
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], expected[i]) << "result " << i;
}

TEST(RowKernel, WaitsFourTimes) {
  add_sums();
  EXPECT_EQ(block_threads::barriers_of_block(), 4U);
}

#ifdef LOCKSTEP_THREAD_SANITIZER
TEST(RowKernel, NeedsEachOfItsBarriers) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (int barrier = 0; barrier < 4; ++barrier) {
    EXPECT_EXIT(
        {
          block_threads::leave_out_barrier(barrier);
          add_sums();
          std::exit(0);  // the sanitizer replaces this status
        },
        testing::ExitedWithCode(66), "data race")
        << "without barrier " << barrier;
  }
}
#endif

}  // namespace
}  // namespace lockstep::cuda
