#include "device/cuda/launch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/bfloat16.h"
#include "device/cuda/cuda_device.h"
#include "lockstep/error.h"

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

/// Work that depends on the order of its calls.
struct Overwrite {
  std::size_t* last;
  LOCKSTEP_HD void operator()(std::size_t i) const { *last = i; }
};

TEST(IndexOrder, ShowsWorkThatDependsOnIt) {
  for (const auto& [order, expected] :
       {std::pair(IndexOrder::ascending, std::size_t{9}), std::pair(IndexOrder::descending, std::size_t{0}),
        std::pair(IndexOrder::shuffled, std::size_t{6})}) {
    index_order = order;
    std::size_t last = 0;
    for_each(nullptr, 10, Overwrite{&last});
    index_order = IndexOrder::ascending;
    EXPECT_EQ(last, expected);
  }
}

TEST(IndexOrder, VisitsEachIndexOnce) {
  for (const IndexOrder order : {IndexOrder::ascending, IndexOrder::descending, IndexOrder::shuffled}) {
    for (const std::size_t count : {0, 1, 2, 3, 12, 257, 1000}) {
      std::vector<int> visits(count), terms(count);
      index_order = order;
      visit_in_order(count, [&](std::size_t i) { ++visits.at(i); });
      visit_terms(count, 256, [&](std::size_t i) { ++terms.at(i); });
      index_order = IndexOrder::ascending;
      EXPECT_EQ(visits, std::vector<int>(count, 1));
      EXPECT_EQ(terms, std::vector<int>(count, 1));
    }
  }
}

#if defined(__GNUC__) && !defined(__clang__)
TEST(KernelArguments, AreNoAddressesOfTheHost) {
  const auto device = make_cuda_device();
  const Buffer memory = device->allocate(4), pinned = device->allocate_host(4);
  const auto own = std::make_unique<float>();
  static float of_the_program = 0;
  float of_the_stack = 0;
  const auto launch = [&](const float* values) {
    for_each_row(handle_of(*device->streams()[0]), 1, SumOfRow{values, memory.as<double>()});
  };
  for (const float* address : {own.get(), &of_the_program, &of_the_stack}) {
    try {
      device->record([&] { launch(address); });
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("SumOfRow: an argument is an address of the host"),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_NO_THROW(
      device->record([&] { launch(memory.as<float>()), launch(pinned.as<float>()), launch(nullptr); }));
}

/// Work with room between its members.
struct Padded {
  std::uint32_t count;
  double* result;
  LOCKSTEP_HD void operator()(std::size_t /*i*/) const {}
};

TEST(KernelArguments, EndWithTheirMembers) {
  const auto device = make_cuda_device();
  const auto own = std::make_unique<int>();
  Padded work{};
  const void* const address = own.get();
  std::memcpy(&work, &address, sizeof address);
  work.count =
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address));  // a member and its padding
  EXPECT_NO_THROW(device->record([&] { for_each(handle_of(*device->streams()[0]), 1, work); }));
}
#endif
/// Sums the columns of matrices with four columns, the last one of three terms; a row is a matrix.
struct SumColumns {
  using Sum = double;
  static constexpr unsigned ahead = 2;
  using Result = double;
  struct Place {
    std::size_t row;
    unsigned lane;
  };
  const float* values;  ///< [row][term][lane]
  std::size_t count;

  LOCKSTEP_HD unsigned lanes() const { return 4; }
  LOCKSTEP_HD Place place(std::size_t row, unsigned lane) const { return {row, lane}; }
  LOCKSTEP_HD std::size_t terms(const Place& at) const { return at.lane == 3 ? 3 : count; }
  LOCKSTEP_HD float load(const Place& at, std::size_t k) const {
    return values[(at.row * count + k) * 4 + at.lane];
  }
  LOCKSTEP_HD double term(const Place&, std::size_t, float loaded) const { return loaded; }
  LOCKSTEP_HD double finish(const Place&, double sum) const { return sum; }
};

/// Writes value - sum of its column.
struct SubtractSums {
  static constexpr unsigned ahead = 4;
  struct Place {
    std::size_t row;
    double sum;
    unsigned lane;
  };
  const float* values;
  double* results;
  std::size_t count;

  LOCKSTEP_HD unsigned lanes() const { return 2; }
  LOCKSTEP_HD Place place(std::size_t row, unsigned lane, const double* sums) const {
    return {row, sums[2 * lane + 1], 2 * lane + 1};  // columns 1 and 3
  }
  LOCKSTEP_HD std::size_t terms(const Place&) const { return count; }
  LOCKSTEP_HD float load(const Place& at, std::size_t k) const {
    return values[(at.row * count + k) * 4 + at.lane];
  }
  LOCKSTEP_HD void store(const Place& at, std::size_t k, float loaded) const {
    results[(at.row * count + k) * 4 + at.lane] = loaded - at.sum;
  }
};

TEST(ForEachRow, DividesRowsIntoLanesAndPassesTheirResultsOn) {
  constexpr std::size_t rows = 3;
  constexpr std::size_t count = 150;
  std::vector<float> values(rows * count * 4);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17);
  std::vector<double> results(values.size(), -1.0);
  for_each_row(nullptr, rows, SumColumns{values.data(), count},
               SubtractSums{values.data(), results.data(), count});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t column = i % 4;
    double expected = -1.0;
    if (column % 2 == 1) {
      expected = values[i];
      const std::size_t first = i / (count * 4) * count * 4 + column;
      for (std::size_t k = 0; k < (column == 3 ? 3 : count); ++k) expected -= values[first + 4 * k];
    }
    EXPECT_EQ(results[i], expected) << "element " << i;
  }
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
