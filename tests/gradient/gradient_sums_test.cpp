#include "gradient/gradient_sums.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/cpu/cpu_device.h"
#include "gradient/gradients.h"
#include "gradient/thread_ranks.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

enum class Way { canonical, bucketed, ring };
struct Case {
  int ranks;
  int executors;
  std::uint32_t leaves;
  std::size_t elements;
};

/// One rank's gradients and a program that sums them on all ranks.
class SummingRank {
 public:
  SummingRank(Way way, const Case& c, Communicator& communicator, const Slices& slices,
              std::span<const std::size_t> buckets, bool at_once)
      : sum_(c.elements),
        gradients_(c.leaves, c.ranks, communicator.rank(), c.executors, c.elements),
        sums_(way == Way::ring       ? plan_ring_sums(communicator, gradients_.options(), buckets)
              : way == Way::bucketed ? plan_bucketed_sums(communicator, gradients_.options(), buckets, 8000)
                                     : plan_canonical_sums(communicator, gradients_.options(), slices)) {
    if (way == Way::canonical) gather_ = plan_arena_gather(communicator, sum_, slices);
    program_ = device_->record([this, at_once] { describe(*device_->streams()[0], at_once); });
  }
  SummingRank(Way way, const Case& c, Communicator& communicator, bool at_once)
      : SummingRank(way, c, communicator, even_slices(c.elements, c.ranks), std::vector<std::size_t>{0},
                    at_once) {}

  const GradientSums& sums() const { return *sums_; }
  /// Runs a step and returns its sum, all elements.
  const std::vector<float>& run() {
    std::ranges::fill(sum_, -1.0F);
    program_->run();
    gradients_.compute_again();
    return sum_;
  }

 private:
  /// Records the sums: chunk by chunk, or all at once.
  void describe(Stream& stream, bool at_once) {
    sums_->ready(stream, 0);
    std::size_t next = sums_->owned().first;
    const auto take = [&](const SumChunk& chunk, const Fold& fold) {
      EXPECT_EQ(chunk.begin, next);
      next = chunk.end;
      gradients_.summation().fold(stream, fold, chunk, sum_.data() + chunk.begin);
    };
    if (at_once) {
      float* const sum = sums_->sum(stream);
      stream.call([sum, this] { EXPECT_EQ(sum, sums_->summed().inputs[0]); }, Phase::reduce);
      take(sums_->summed(), one_);
    } else {
      while (const auto chunk = sums_->next(stream)) take(*chunk, sums_->fold());
    }
    EXPECT_EQ(next, sums_->owned().second);
    if (gather_) gather_(stream);
  }

  std::vector<float> sum_;
  RankGradients gradients_;
  std::unique_ptr<GradientSums> sums_;
  Gather gather_;
  const Fold one_{.program = {0}, .depth = 1};
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1, .pin = false});
  std::unique_ptr<Program> program_;
};

/// Sums of all ranks after two steps.
std::vector<std::vector<float>> run(Way way, const Case& c, bool at_once) {
  std::vector<std::vector<float>> all(static_cast<std::size_t>(c.ranks));
  run_as_ranks(c.ranks, [&](Communicator& communicator) {
    SummingRank rank(way, c, communicator, at_once);
    rank.run();
    all[static_cast<std::size_t>(communicator.rank())] = rank.run();
  });
  return all;
}

std::vector<float> reference(const Case& c) {
  std::vector<float> sum(c.elements);
  for (std::size_t e = 0; e < c.elements; ++e) sum[e] = reference_sum(0, c.leaves, e);
  return sum;
}

void expect_reference(const Case& c) {
  const std::vector<float> expected = reference(c);
  for (const bool at_once : {false, true}) {
    for (const std::vector<float>& sum : run(Way::canonical, c, at_once)) {
      EXPECT_EQ(std::memcmp(sum.data(), expected.data(), c.elements * sizeof(float)), 0)
          << c.ranks << " ranks, " << c.executors << " executors, " << c.leaves << " leaves, " << c.elements;
    }
  }
}

TEST(CanonicalSums, HaveTheSameBitsOnAnyNumberOfRanksAndExecutors) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::uint32_t leaves : {8U, 13U, 16U}) {
      for (const std::size_t elements : {1U, 15U, 16U, 17U, 1000U}) {
        expect_reference({ranks, 1, leaves, elements});
      }
    }
    for (const std::uint32_t leaves : {1U, 2U, 3U, 5U}) expect_reference({ranks, 2, leaves, 1000});
    if (ranks <= 3) {
      for (const int executors : {2, 3, 5, 9}) expect_reference({ranks, executors, 16, 4099});
    }
    if (ranks <= 3 || ranks >= 7) expect_reference({ranks, 1, 16, 100003});
  }
}

TEST(CanonicalSums, AreOfTheSlicesThatAreGiven) {
  run_as_ranks(3, [&](Communicator& communicator) {
    const Case c{3, 1, 5, 1000};
    const Slices slices{0, 976, 976, 1000};
    for (const bool at_once : {false, true}) {
      SummingRank rank(Way::canonical, c, communicator, slices, {}, at_once);
      const auto at = static_cast<std::size_t>(communicator.rank());
      EXPECT_EQ(rank.sums().owned(), std::pair(slices[at], slices[at + 1]));
      EXPECT_EQ(rank.run(), reference(c));
    }
  });
}

TEST(CanonicalSums, RejectPartialSumsOfOtherLeaves) {
  const auto communicator = make_self_communicator();
  const RankGradients gradients(4, 1, 0, 1, 16);
  GradientSumsOptions options = gradients.options();
  options.partials.clear();
  EXPECT_THROW(plan_canonical_sums(*communicator, options, {0, 16}), Error);
  options.assignment = assign(0, 1, 0, 1);
  EXPECT_THROW(plan_canonical_sums(*communicator, options, {0, 16}), Error);
}

/// Covers small buckets, whose partial sums all go to every rank, and larger ones, of which each rank folds a
/// part.
TEST(BucketedSums, HaveTheBitsOfTheCanonicalSumOnEveryRank) {
  constexpr std::size_t buckets[] = {0, 160, 9000, 9600};
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::uint32_t leaves : {3u, 8u, 13u}) {
      const Case c{ranks, 1, leaves, 10'000};
      const std::vector<float> expected = reference(c);
      run_as_ranks(ranks, [&](Communicator& communicator) {
        SummingRank rank(Way::bucketed, c, communicator, {}, buckets, leaves == 8);
        for (int step = 0; step < 2; ++step) {
          EXPECT_EQ(std::memcmp(rank.run().data(), expected.data(), c.elements * sizeof(float)), 0)
              << ranks << " ranks, " << leaves << " leaves, step " << step;
        }
      });
    }
  }
}

TEST(BucketedSums, MergeThePartialSumsOfExecutors) {
  for (const int executors : {2, 3}) {
    const Case c{3, executors, 13, 1000};
    for (const auto& sum : run(Way::bucketed, c, false)) EXPECT_EQ(sum, reference(c));
  }
}

TEST(RingSums, AreCloseToTheCanonicalSum) {
  for (const int ranks : {1, 2, 3, 8}) {
    const Case c{ranks, 2, 5, 1000};
    const std::vector<float> expected = reference(c);
    for (const bool at_once : {false, true}) {
      for (const std::vector<float>& sum : run(Way::ring, c, at_once)) {
        for (std::size_t e = 0; e < c.elements; ++e) EXPECT_NEAR(sum[e], expected[e], 1e-2);
      }
    }
  }
}

/// A single rank that records which parts' sums begin and when, without summing.
class NotedSums final : public ThreadCommunicator {
 public:
  explicit NotedSums(const float* arena)
      : ThreadCommunicator(std::make_shared<Meeting>(1), 0), arena_(arena) {}
  AllReduce plan_all_reduce(std::span<float> values) override {
    const std::string part = std::to_string(values.data() - arena_);
    return {.start = [this, part](Stream& /*stream*/) { notes += " " + part; },
            .finish = [this, part](Stream& /*stream*/) { notes += " =" + part; }};
  }

  std::string notes;

 private:
  const float* arena_;
};

TEST(RingSums, BeginBucketsThatAreReady) {
  RankGradients gradients(1, 1, 0, 1, 1000);
  NotedSums noted(gradients.options().partials[0].data);
  const auto sums = plan_ring_sums(noted, gradients.options(), std::vector<std::size_t>{0, 160, 480, 800});
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  const auto program = device->record([&] {
    Stream& stream = *device->streams()[0];
    const auto notes_of = [&](auto&& work) {
      noted.notes.clear();
      work();
      return noted.notes;
    };
    for (int step = 0; step < 2; ++step) {
      EXPECT_EQ(notes_of([&] { sums->ready(stream, 801); }), "");
      EXPECT_EQ(notes_of([&] { sums->ready(stream, 400); }), " 800 480");
      EXPECT_EQ(notes_of([&] { sums->ready(stream, 0); }), " 160 0");
      EXPECT_EQ(notes_of([&] { EXPECT_TRUE(sums->next(stream)); }), " =800 =480 =160 =0");
      EXPECT_EQ(notes_of([&] { EXPECT_FALSE(sums->next(stream)); }), "");
    }
  });
}

/// The ring's sum has the same bits with and without buckets; ranks without micro-batches contribute zeros in
/// each step.
TEST(RingSums, OfBucketsAreThoseOfTheWhole) {
  constexpr std::size_t buckets[] = {0, 160, 480, 800};
  for (const int ranks : {1, 2, 3, 8}) {
    const Case c{ranks, 1, 5, 1000};
    const std::vector<float> expected = run(Way::ring, c, false)[0];
    run_as_ranks(ranks, [&](Communicator& communicator) {
      SummingRank rank(Way::ring, c, communicator, {}, buckets, true);
      for (int step = 0; step < 3; ++step) EXPECT_EQ(rank.run(), expected);
    });
  }
}

}  // namespace
}  // namespace lockstep
