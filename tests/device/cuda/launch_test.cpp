#include "device/cuda/native/launch.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/bfloat16.h"
#include "device/cuda/cuda_device.h"
#include "fake_cuda/fake_cuda.h"

namespace lockstep::cuda {
namespace {

/// Two sums whose bits depend on the order of additions.
struct TwoSums {
  double first = 0.0;
  float second = 0.0F;
  float third = 0.0F;
  TwoSums& operator+=(const TwoSums& other) {
    first += other.first;
    second += other.second;
    third += other.third;
    return *this;
  }
  bool operator==(const TwoSums&) const = default;
};

/// Magnitudes differ, so each addition rounds.
TwoSums term_number(std::size_t i) {
  const auto x = static_cast<double>(i * 2654435761U % 1000003);
  const double wide = x * x * 1e-3 + 1.0 / (1.0 + x);
  return {wide, static_cast<float>(wide), static_cast<float>(x) * 0.1F};
}

constexpr std::size_t terms_of_a_lane = 700;

/// Sums a row of these terms.
struct SumTerms {
  using Sum = TwoSums;
  unsigned number_of_lanes;
  TwoSums* results;  ///< indexed by lane
  unsigned lanes() const { return number_of_lanes; }
  unsigned place(std::size_t /*row*/, unsigned lane) const { return lane; }
  std::size_t terms(unsigned /*lane*/) const { return terms_of_a_lane; }
  TwoSums term(unsigned lane, std::size_t k) const { return term_number(k * number_of_lanes + lane); }
  void finish(unsigned lane, const TwoSums& sum) const { results[lane] = sum; }
};

/// Compares with the order that for_each_row documents.
TEST(ForEachRow, AddsInItsOrder) {
  for (const unsigned lanes : {1U, 4U, max_row_lanes}) {
    std::array<TwoSums, row_threads> sums{};
    for (unsigned t = 0; t < row_threads; ++t) {
      for (std::size_t k = t / lanes; k < terms_of_a_lane; k += row_threads / lanes) {
        sums[t] += term_number(k * lanes + t % lanes);
      }
    }
    for (unsigned apart = row_threads / 2; apart >= lanes; apart /= 2) {
      for (unsigned t = 0; t < apart; ++t) sums[t] += sums[t + apart];
    }
    std::vector<TwoSums> results(lanes);
    for_each_row(nullptr, 1, SumTerms{lanes, results.data()});
    for (unsigned lane = 0; lane < lanes; ++lane) EXPECT_EQ(results[lane], sums[lane]) << lanes << " lanes";
  }
}

using fake_cuda::Threads;
constexpr Threads orders[] = {Threads::ascending, Threads::descending, Threads::shuffled};

/// Work that depends on the order of its calls.
struct Overwrite {
  std::size_t* last;
  LOCKSTEP_HD void operator()(std::size_t i) const { *last = i; }
};

TEST(ThreadOrder, ShowsWorkThatDependsOnIt) {
  std::vector<std::size_t> found;
  for (const Threads order : orders) {
    fake_cuda::set_threads(order);
    for_each(nullptr, 1000, Overwrite{&found.emplace_back()});
  }
  fake_cuda::set_threads(Threads::ascending);
  EXPECT_EQ(found[0], 999U);
  EXPECT_EQ(found[1], 0U);
  EXPECT_NE(found[2], 999U);
  EXPECT_NE(found[2], 0U);
}

TEST(ThreadOrder, VisitsEachIndexOnce) {
  for (const Threads order : orders) {
    fake_cuda::set_threads(order);
    for (const unsigned count : {0U, 1U, 2U, 3U, 12U, 257U, 1000U}) {
      std::vector<int> visits(count);
      fake_cuda::visit(count, [&](unsigned i) { ++visits.at(i); });
      EXPECT_EQ(visits, std::vector<int>(count, 1));
    }
  }
  fake_cuda::set_threads(Threads::ascending);
}

#if defined(__GNUC__) && !defined(__clang__)
/// Work with padding between its members.
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
  device->record([&] { for_each(handle_of(*device->streams()[0]), 1, work); });
  EXPECT_TRUE(fake_cuda::take_faults().empty());
}
#endif

TEST(Bfloat16, RoundsToNearestEven) {
  const auto round = [](float value) { return to_float(from_float<Bfloat16>(value)); };
  EXPECT_EQ(round(1.0F), 1.0F);
  EXPECT_EQ(round(1.0F + 0x1p-8F), 1.0F);  // a tie rounds to even
  EXPECT_EQ(round(1.0F + 0x1p-7F + 0x1p-8F), 1.0F + 0x1p-6F);
  EXPECT_EQ(round(1.0F + 0x1p-8F + 0x1p-20F), 1.0F + 0x1p-7F);
  EXPECT_EQ(round(-3.4e38F), -INFINITY);
  EXPECT_TRUE(std::isnan(round(NAN)));
}

}  // namespace
}  // namespace lockstep::cuda
