#include "device/cuda/launch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "device/cuda/bfloat16.h"

namespace lockstep::cuda {
namespace {

struct SumOfRow {
  using Sum = double;
  const float* values;
  double* sums;
  LOCKSTEP_HD std::size_t terms(std::size_t row) const { return row * 100; }
  LOCKSTEP_HD double term(std::size_t row, std::size_t k) const { return values[row + k]; }
  LOCKSTEP_HD void finish(std::size_t row, double sum) const { sums[row] = sum; }
};

TEST(ForEachRow, SumsEachRow) {
  std::vector<float> values(2000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  std::vector<double> sums(10, -1.0);
  for_each_row(nullptr, sums.size(), SumOfRow{values.data(), sums.data()});
  for (std::size_t row = 0; row < sums.size(); ++row) {
    const double n = static_cast<double>(row) * 100;
    EXPECT_EQ(sums[row], n * static_cast<double>(row) + n * (n - 1) / 2) << "row " << row;
  }
}

/// Sums rows in reverse order, by their places.
struct SumOfPlace {
  using Sum = double;
  struct Place {
    std::size_t first, result;
  };
  const float* values;
  double* sums;
  std::size_t rows;
  LOCKSTEP_HD Place place(std::size_t row) const { return {(rows - 1 - row) * 2, rows - 1 - row}; }
  LOCKSTEP_HD std::size_t terms(const Place&) const { return 2; }
  LOCKSTEP_HD double term(const Place& at, std::size_t k) const { return values[at.first + k]; }
  LOCKSTEP_HD void finish(const Place& at, double sum) const { sums[at.result] = sum; }
};

TEST(ForEachRow, GivesThePlaceOfARow) {
  const std::vector<float> values{1, 2, 30, 40, 500, 600};
  std::vector<double> sums(3);
  for_each_row(nullptr, sums.size(), SumOfPlace{values.data(), sums.data(), sums.size()});
  EXPECT_EQ(sums, (std::vector<double>{3, 70, 1100}));
}

TEST(Bfloat16, RoundsToNearestEven) {
  const auto round = [](float value) { return to_float(from_float<Bfloat16>(value)); };
  EXPECT_EQ(round(1.0F), 1.0F);
  EXPECT_EQ(round(1.0F + 0x1p-8F), 1.0F);  // a tie: to even
  EXPECT_EQ(round(1.0F + 0x1p-7F + 0x1p-8F), 1.0F + 0x1p-6F);
  EXPECT_EQ(round(1.0F + 0x1p-8F + 0x1p-20F), 1.0F + 0x1p-7F);
  EXPECT_EQ(round(-3.4e38F), -INFINITY);
  EXPECT_TRUE(std::isnan(round(NAN)));
}

}  // namespace
}  // namespace lockstep::cuda
