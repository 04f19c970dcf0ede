// Lets the threads of blocks run at once in all tests of this program, on threads of the host, for the thread
// sanitizer. Most are tests of kernels that other programs run in turn; those below are of the sanitizer.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <sstream>

#include "device/cuda/native/launch.h"
#include "fake_cuda/fake_cuda.h"
#include "ops/cuda/run_cuda_op.h"

#if defined(__SANITIZE_THREAD__)
#define LOCKSTEP_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_THREAD_SANITIZER
#endif
#endif

namespace lockstep::cuda {
namespace {

/// Whether a pattern of GoogleTest's filter names a test of this program.
[[maybe_unused]] bool names_a_test(const std::string& pattern) {
  const auto& tests = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const auto& suite = *tests.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(j)->name();
      if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
    }
  }
  return false;
}

class AtOnce final : public ::testing::EmptyTestEventListener {
#ifdef LOCKSTEP_THREAD_SANITIZER
  /// Finds patterns of the filter in tests/CMakeLists.txt whose test has another name now.
  void OnTestProgramStart(const ::testing::UnitTest& /*tests*/) override {
    std::istringstream filter(::testing::GTEST_FLAG(filter));
    for (std::string pattern; std::getline(filter, pattern, ':');) {
      EXPECT_TRUE(names_a_test(pattern)) << "the filter names no test with " << pattern;
    }
  }
#endif

  void OnTestStart(const ::testing::TestInfo& /*info*/) override {
    fake_cuda::set_threads(fake_cuda::Threads::at_once);
  }
};

const bool added = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new AtOnce);
  return true;
}();

#ifdef LOCKSTEP_THREAD_SANITIZER
/// Expects that the sanitizer finds a race in `work`, which runs in a process of its own.
template <class Work>
void expect_race(const Work& work, const std::string& where) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        fake_cuda::set_threads(fake_cuda::Threads::at_once);  // such a process calls no listeners
        work();
        std::exit(0);  // the sanitizer replaces this status
      },
      ::testing::ExitedWithCode(66), "data race")
      << where;
}

/// A batch norm, whose kernels of rows have all barriers that there are.
TEST(RowKernel, NeedsEachOfItsBarriers) {
  for (int barrier = 0; barrier < 4; ++barrier) {
    const auto without = [&] {
      fake_cuda::leave_out_barrier(barrier);
      const auto norm = lockstep::test::norm_case("BatchNorm", {8, 10, 5}, {.relu = true});
      run_cuda_op(norm, lockstep::test::random_inputs(norm, 3), Type::fp32);
    };
    expect_race(without, "without barrier " + std::to_string(barrier));
  }
}

/// Writes each element from two threads.
struct WriteTwice {
  float* values;
  void operator()(std::size_t i) const { values[i / 2] = 1.0F; }
};

TEST(EachKernel, NeedsElementsOfItsOwn) {
  std::vector<float> values(512);
  expect_race([&] { for_each(nullptr, values.size(), WriteTwice{values.data()}); }, "two threads an element");
}
#endif

}  // namespace
}  // namespace lockstep::cuda
