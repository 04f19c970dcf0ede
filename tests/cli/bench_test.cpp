#include "cli/bench/bench.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep {
namespace {

std::vector<float> sum_of_terms(int ranks, std::size_t elements) {
  std::vector<float> sum(elements, 0.0F);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> terms = terms_of_rank(rank, elements);
    for (std::size_t i = 0; i < elements; ++i) sum[i] += terms[i];
  }
  return sum;
}

TEST(BenchSums, AreRightInAnyOrder) {
  for (const int ranks : {1, 2, 3, 9, 5000})
    EXPECT_NO_THROW(check_sum(sum_of_terms(ranks, 21), ranks, "ring"));
}

TEST(BenchSums, AreWrongAtTheElementThatTheErrorNames) {
  std::vector<float> sum = sum_of_terms(3, 21);
  sum[10] += 1.0F;
  expect_error(Category::internal,
               {"the canonical sum of 21 floats over 3 ranks is wrong: element 10 is 19 instead of 18"},
               [&] { check_sum(sum, 3, "canonical"); });
  for (const int rank : {0, 1, 2}) {  // one rank is missing
    const std::vector<float> terms = terms_of_rank(rank, 21);
    sum = sum_of_terms(3, 21);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= terms[i];
    expect_error(Category::internal, {"element 0 is"}, [&] { check_sum(sum, 3, "ring"); });
  }
}

}  // namespace
}  // namespace lockstep
