// The promise of the project: one digest, whatever runs the steps. Real processes, the first 1,000 images of
// Fashion-MNIST: three batches of 256 and a last one of 232, which is 7 full micro-batches and one of 8.
#include <gtest/gtest.h>

#include <memory>

#include "support/run.h"

namespace lockstep::test {
namespace {

class Digests : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    write_small_fashion_mnist(*folder_, 1000, 333);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  using Arguments = std::vector<std::string>;
  static inline const Arguments sgd = {"--lr", "0.2", "--momentum", "0.5"};

  /// Standard output of a run of two epochs.
  static std::string train(int ranks, const Arguments& more, const Arguments& rule = sgd) {
    Arguments arguments = {"train",      "--model",         "lenet",    "--dataset", "fashion-mnist",
                           "--data-dir", folder_->string(), "--epochs", "2",         "--batch-size",
                           "256"};
    arguments.insert(arguments.end(), rule.begin(), rule.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = lockstep(ranks, arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  static std::string digest(int ranks, const Arguments& more, const Arguments& rule = sgd) {
    return digest_of(train(ranks, more, rule));
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> Digests::folder_;

TEST_F(Digests, AreEqualOnAnyNumberOfRanksAndThreads) {
  const std::string expected = digest(0, {"--threads", "1"});
  ASSERT_EQ(expected.size(), 37U);
  for (const auto& [ranks, threads] :
       {std::pair{1, "2"}, {1, "4"}, {2, "1"}, {2, "2"}, {3, "1"}, {4, "1"}, {8, "1"}}) {
    EXPECT_EQ(digest(ranks, {"--threads", threads}), expected)
        << ranks << " ranks, " << threads << " threads";
  }
}

/// Slow on few or busy cores, as up to 32 threads wait for each other.
using LongDigests = Digests;
TEST_F(LongDigests, AreEqualWithSeveralThreadsOnEachOfManyRanks) {
  const std::string expected = digest(0, {"--threads", "1"});
  for (const int ranks : {3, 4, 8}) {
    for (const char* threads : {"2", "4"}) {
      EXPECT_EQ(digest(ranks, {"--threads", threads}), expected)
          << ranks << " ranks, " << threads << " threads";
    }
  }
  EXPECT_EQ(digest(2, {"--threads", "4"}), expected);
}

TEST_F(Digests, AreEqualWithEitherTransport) {
  const std::string expected = digest(1, {});
  for (const int ranks : {2, 3, 8}) {
    for (const char* transport : {"shared-memory", "messages"}) {
      EXPECT_EQ(digest(ranks, {"--transport", transport}), expected) << ranks << " ranks, " << transport;
    }
  }
}

TEST_F(Digests, AreEqualWithoutTheLastShortBatch) {
  const std::string expected = digest(1, {"--drop-last"});
  EXPECT_NE(expected, digest(1, {}));
  for (const int ranks : {2, 3, 8}) {
    EXPECT_EQ(digest(ranks, {"--drop-last"}), expected) << ranks << " ranks";
  }
}

TEST_F(Digests, AreEqualWithAnAdaptiveOptimizerAndASchedule) {
  const Arguments rule = {"--optimizer", "adamw",   "--lr",   "0.002",           "--weight-decay",
                          "0.05",        "--sched", "cosine", "--warmup-epochs", "0.5"};
  const std::string expected = digest(1, {}, rule);
  EXPECT_NE(expected, digest(1, {}));
  for (const int ranks : {2, 3}) EXPECT_EQ(digest(ranks, {}, rule), expected) << ranks << " ranks";
}

/// Compares the averages, too, which are saved.
TEST_F(Digests, AreEqualWithClippingAndAveragedWeights) {
  const std::string model = (*folder_ / "averages.safetensors").string();
  const Arguments rule = {
      "--optimizer",       "adamw",  "--lr",         "0.002", "--weight-decay",       "0.05",
      "--sched",           "cosine", "--clip-grad",  "0.5",   "--filter-bias-and-bn", "--model-ema",
      "--model-ema-decay", "0.9",    "--save-model", model};
  const auto saved = [&] {
    return line_after(lockstep(0, {"inspect", model}).out, "digest in the file's order ");
  };
  const std::string expected = digest(0, {"--threads", "1"}, rule), averages = saved();
  EXPECT_NE(expected, averages);
  for (const int ranks : {1, 2, 3, 4}) {
    for (const char* threads : {"1", "2"}) {
      EXPECT_EQ(digest(ranks, {"--threads", threads}, rule), expected)
          << ranks << " ranks, " << threads << " threads";
      EXPECT_EQ(saved(), averages) << ranks << " ranks, " << threads << " threads";
    }
  }
}

TEST_F(Digests, AreEqualWithLayerwiseRates) {
  for (const Arguments& rule :
       {Arguments{"--optimizer", "lars", "--lr", "5", "--momentum", "0.9", "--weight-decay", "0.001"},
        Arguments{"--optimizer", "lamb", "--lr", "0.01", "--weight-decay", "0.05", "--clip-grad", "1"}}) {
    const std::string expected = digest(1, {"--max-steps", "5"}, rule);
    for (const int ranks : {2, 3, 4}) {
      for (const char* transport : {"shared-memory", "messages"}) {
        EXPECT_EQ(digest(ranks, {"--max-steps", "5", "--transport", transport}, rule), expected)
            << rule[1] << ", " << ranks << " ranks, " << transport;
      }
    }
  }
}

TEST_F(Digests, AreEqualForMicroBatchesThatAreNoPowerOfTwo) {
  const auto run = [&](int ranks) {
    const Outcome outcome = lockstep(ranks, {"train", "--data-dir", folder_->string(), "--epochs", "1",
                                             "--batch-size", "240", "--micro-batches", "6", "--lr", "0.2"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return digest_of(outcome.out);
  };
  const std::string expected = run(1);
  for (const int ranks : {2, 3, 4, 5, 6}) {
    EXPECT_EQ(run(ranks), expected) << ranks << " ranks";
  }
}

TEST_F(Digests, AreEqualAtEveryVectorLevelOfThisMachine) {
  const std::string expected = digest(1, {});
  for (const char* level : {"avx2", "avx512", "neon"}) {
    const Outcome outcome =
        lockstep(0, {"train", "--data-dir", folder_->string(), "--epochs", "2", "--batch-size", "256", "--lr",
                     "0.2", "--momentum", "0.5", "--simd", level});
    if (outcome.status == 2) {
      EXPECT_NE(outcome.err.find(std::string("'") + level + "'"), std::string::npos) << outcome.err;
    } else {
      EXPECT_EQ(digest_of(outcome.out), expected) << level;
    }
  }
}

/// All output of rank 0 is equal, except the times.
TEST_F(Digests, LossesAndAccuraciesAreEqualToo) {
  const auto without_time = [](const std::string& text) { return text.substr(0, text.find(" s  ") - 8); };
  EXPECT_EQ(without_time(train(1, {})), without_time(train(3, {})));
}

TEST_F(Digests, OfTheRingSaysThatItDependsOnTheRanks) {
  const std::string out = train(2, {"--reduce", "ring"});
  EXPECT_NE(out.find("ring"), std::string::npos) << out;
}

TEST_F(Digests, DependOnTheSeed) { EXPECT_NE(digest(1, {"--seed", "1"}), digest(1, {"--seed", "2"})); }

}  // namespace
}  // namespace lockstep::test
