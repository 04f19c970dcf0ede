#include "train/loop/stragglers.h"

#include <gtest/gtest.h>

#include <functional>

namespace lockstep {
namespace {

using Finding = StragglerDetector::Finding;

/// A run with evenly spaced boundaries, and the ranks that the detector must find.
struct StragglerCase {
  const char* name;
  int boundaries;
  std::uint64_t steps;  ///< between two boundaries
  double seconds;       ///< duration of these steps
  /// Returns the ranks' times at a boundary; the first boundary is 0.
  std::function<std::vector<double>(int)> times;
  std::vector<std::size_t> found;
};

std::function<std::vector<double>(int)> always(std::vector<double> times) {
  return [times = std::move(times)](int /*boundary*/) { return times; };
}

/// Three ranks. The second is slow except at boundaries for which `keeps_up` returns true.
std::function<std::vector<double>(int)> slow_but(const std::function<bool(int)>& keeps_up) {
  return [keeps_up](int boundary) { return std::vector<double>{1, keeps_up(boundary) ? 1.0 : 1.6, 1}; };
}

std::vector<double> taking_turns(int boundary) {
  std::vector<double> times{1, 1, 1};
  times[static_cast<std::size_t>(boundary / 5 % 3)] = 2.0;
  return times;
}

TEST(Stragglers, AreFoundAsTheTableSays) {
  const std::vector<StragglerCase> cases = {
      {"equal ranks", 1000, 1, 0.3, always({1, 1, 1, 1}), {}},
      {"one is slow", 20, 1, 0.3, always({1, 1, 1.6, 1}), {2}},
      {"19 steps are too few", 19, 1, 0.3, always({1, 1, 1.6, 1}), {}},
      {"20 steps of 0.2 s are too short", 20, 1, 0.2, always({1, 1, 1.6, 1}), {}},
      {"steps of 1 ms", 5250, 1, 0.001, always({1, 1, 1.6, 1}), {2}},
      {"steps of 1 ms, too short", 4000, 1, 0.001, always({1, 1, 1.6, 1}), {}},
      {"steps submitted together", 5, 50, 1.0, always({1, 1, 1.6, 1}), {2}},
      {"not beyond the limit", 1000, 1, 0.3, always({1, 1, 1.3, 1}), {}},
      {"two of four", 100, 1, 0.3, always({1.6, 1, 1, 1.7}), {0, 3}},
      {"the slower one of two", 100, 1, 0.3, always({1.6, 1}), {0}},
      {"the slowest of three", 100, 1, 0.3, always({1, 1.2, 1.6}), {2}},
      {"a rank alone", 100, 1, 0.3, always({1}), {}},
      {"only one rank is known", 100, 1, 0.3, always({1, 0, 0}), {}},
      {"an unknown rank is not judged, and does not count", 100, 1, 0.3, always({1, 0, 0, 1.6}), {3}},
      {"no rank is known", 100, 1, 0.3, always({0, 0}), {}},
      {"it keeps up in every 20th step", 1000, 1, 0.3, slow_but([](int i) { return i % 20 == 19; }), {}},
      {"ranks take turns, as of a scheduler, every few steps", 10000, 1, 0.02, taking_turns, {}},
      {"it is reported once", 100000, 1, 0.3, always({1, 1, 1.6}), {2}},
      {"again after keeping up for as long", 60, 1, 0.3, slow_but([](int i) { return i / 20 == 1; }), {1, 1}},
      {"not after 19 steps", 60, 1, 0.3, slow_but([](int i) { return i >= 20 && i < 39; }), {1}},
      {"at most three times", 1000, 1, 0.3, slow_but([](int i) { return i / 20 % 2 == 1; }), {1, 1, 1}},
  };
  for (const StragglerCase& row : cases) {
    SCOPED_TRACE(row.name);
    StragglerDetector detector;
    std::vector<std::size_t> found;
    for (int boundary = 0; boundary < row.boundaries; ++boundary) {
      for (const Finding& finding : detector.add(row.steps, row.seconds, row.times(boundary))) {
        found.push_back(finding.rank);
      }
    }
    EXPECT_EQ(found, row.found);
  }
}

TEST(Stragglers, AreFoundWithTheirAverages) {
  StragglerDetector detector;
  std::vector<Finding> found;
  for (int i = 0; i < 20; ++i) {
    found = detector.add(1, 0.5, std::vector{0.5, 0.5, i % 2 == 0 ? 1.5 : 2.5});
  }
  EXPECT_EQ(found, (std::vector<Finding>{{.rank = 2, .steps = 20, .own = 2.0, .median = 0.5}}));
}

TEST(Stragglers, AreNamedInOneLine) {
  const std::string line =
      message_of({.step = 70, .rank = 2, .host = "b", .steps = 20, .seconds = 0.0416, .median = 0.026});
  EXPECT_EQ(
      line.find("rank 2 on host b computes 1.6 times as long per sample as the median of the ranks, for "
                "20 steps (41.6 ms, median 26 ms)"),
      0U)
      << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace lockstep
