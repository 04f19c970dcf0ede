#include "device/kernel_times.h"

#include <gtest/gtest.h>

#include <array>
#include <typeinfo>

namespace lockstep {
namespace test_kernels {

struct Bfloat16 {};
struct Zeros {};
template <class T>
struct Copy {};
template <class Source>
struct SumPacks {};
template <class T, class Divisor>
struct AveragePool {};
template <int width>
struct Add {};

}  // namespace test_kernels

namespace {

using namespace test_kernels;

struct Hidden {};

TEST(KernelNames, HaveNeitherNamespacesNorNumbers) {
  EXPECT_EQ(kernel_name(typeid(Zeros).name()), "Zeros");
  EXPECT_EQ(kernel_name(typeid(Hidden).name()), "Hidden");
  EXPECT_EQ(kernel_name(typeid(Copy<float>).name()), "Copy");
  EXPECT_EQ(kernel_name(typeid(Copy<Bfloat16>).name()), "Copy");
  EXPECT_EQ(kernel_name(typeid(Add<4>).name()), "Add");
  EXPECT_EQ(kernel_name(typeid(SumPacks<Zeros>).name()), "SumPacks Zeros");
  EXPECT_EQ(kernel_name(typeid(SumPacks<AveragePool<float, Zeros>>).name()), "SumPacks AveragePool");
  EXPECT_EQ(kernel_name(typeid(AveragePool<Bfloat16, Zeros>).name()), "AveragePool");
  // nvcc names unnamed namespaces.
  EXPECT_EQ(kernel_name("N8lockstep4cuda23_GLOBAL__N__8f_9pool_cu5ZerosE"), "Zeros");
}

TEST(KernelNames, OfOperationsAndCopiesAreTheirTexts) {
  for (const char* text : {"copy", "memset", "NCCL all-reduce", "convolution forward: fp32 1x2, eng4_k2=1"}) {
    EXPECT_EQ(kernel_name(text), text);
  }
}

std::array<int, 2> streams;
CUstream_st* const stream = reinterpret_cast<CUstream_st*>(&streams[0]);
CUstream_st* const side = reinterpret_cast<CUstream_st*>(&streams[1]);

/// A clock that test code moves. Both streams reach a point at its current time.
struct TestClock final : StreamClock {
  explicit TestClock(std::vector<std::string>& list) : calls(list) {}
  void mark(CUstream_st* /*stream*/, std::size_t point) override {
    if (points.size() <= point) points.resize(point + 1);
    points[point] = now;
  }
  double seconds(std::size_t from, std::size_t to) const override { return points[to] - points[from]; }
  void hold(CUstream_st* held) override { calls.emplace_back(held == stream ? "hold" : "hold side"); }
  void release() override { calls.emplace_back("release"); }

  static inline double now = 0.0;
  std::vector<double> points;
  std::vector<std::string>& calls;
};

void launch(const char* name, double seconds, CUstream_st* on = stream) {
  timed_launch(on, name, [&] { TestClock::now += seconds; });
}

struct Measured {
  std::vector<std::string> calls;
  KernelTimes times{std::make_unique<TestClock>(calls)};
};

TEST(KernelTimes, CountTimeBetweenLaunchesOfAStreamInAPart) {
  Measured measured;
  measured.times.begin_part(stream);
  TestClock::now += 100.0;  // before the first launch
  launch("a", 1.0);
  TestClock::now += 3.0;
  launch("b", 1.0, side);
  TestClock::now += 5.0;
  launch("a", 1.0);
  TestClock::now += 100.0;  // after the last launch
  measured.times.end_part();
  TestClock::now += 1000.0;
  measured.times.begin_part(stream);
  launch("a", 1.0);
  measured.times.end_part();
  measured.times.collect();
  EXPECT_EQ(measured.times.between(), 3.0 + 1.0 + 5.0);
  EXPECT_EQ(measured.times.of_points(), 0.0) << "the clock stands still without work";
  EXPECT_EQ(measured.calls, (std::vector<std::string>{"hold", "release", "hold", "release"}));
}

TEST(KernelTimes, AreThoseOfProgramsOnly) {
  Measured measured;
  launch("before", 1.0);
  measured.times.begin_part(stream);
  launch("a", 1.0);
  measured.times.end_part();
  TestClock::now += 100.0;
  launch("between parts", 1.0);
  measured.times.end_program();
  launch("after", 1.0);
  measured.times.collect();
  EXPECT_EQ(measured.times.kernels().size(), 2U);
  EXPECT_EQ(measured.times.between(), 0.0);
}

TEST(KernelTimes, EndAPartOnce) {
  Measured measured;
  measured.times.end_part();
  measured.times.begin_part(side);
  measured.times.end_part();
  measured.times.end_part();
  EXPECT_EQ(measured.calls, (std::vector<std::string>{"hold side", "release"}));
}

TEST(KernelTimes, MeasureOnlyWhileTheyLive) {
  {
    const Measured measured;
    EXPECT_EQ(KernelTimes::of_thread(), &measured.times);
  }
  EXPECT_EQ(KernelTimes::of_thread(), nullptr);
  double launched = 0.0;
  timed_launch(stream, "a", [&] { launched = 1.0; });
  EXPECT_EQ(launched, 1.0);
}

}  // namespace
}  // namespace lockstep
