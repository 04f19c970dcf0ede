// Preparation and augmentation of samples: one digest on any number of ranks and threads.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "support/image_files.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

using Arguments = std::vector<std::string>;

Outcome train(int ranks, Arguments data, const Arguments& more) {
  Arguments arguments = {"train",           "--epochs", "2",    "--batch-size", "64",
                         "--micro-batches", "4",        "--lr", "0.1"};
  arguments.insert(arguments.end(), data.begin(), data.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  Outcome outcome = lockstep(ranks, arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome;
}

/// Digest of a run. Checks that it is the same on 1, 2 and 3 ranks with 1 and 2 threads.
std::string only_digest(const Arguments& data, const Arguments& more) {
  const std::string expected = digest_of(train(0, data, more).out);
  for (const int ranks : {1, 2, 3}) {
    for (const char* threads : {"1", "2"}) {
      Arguments all = more;
      all.insert(all.end(), {"--threads", threads});
      EXPECT_EQ(digest_of(train(ranks, data, all).out), expected)
          << ranks << " ranks, " << threads << " threads";
    }
  }
  return expected;
}

const Arguments synthetic = {"--dataset", "synthetic", "--synthetic-shape", "3x28x28", "--samples", "300"};

TEST(Input, AugmentedRunsHaveOneDigest) {
  const std::string all = only_digest(
      synthetic, {"--mean", "0.4,0.5,0.6", "--std", "0.25", "--random-resized-crop", "--crop-padding", "2",
                  "--hflip", "0.5", "--randaugment", "rand-m9-n2", "--cutout", "8", "--mixup", "0.2"});
  EXPECT_NE(digest_of(train(1, synthetic, {}).out), all);
}

TEST(Input, EachAugmentationChangesTheRun) {
  const std::string plain = digest_of(train(1, synthetic, {}).out);
  const std::vector<Arguments> cases = {{"--crop-padding", "2"},   {"--hflip", "0.5"},
                                        {"--random-resized-crop"}, {"--cutout", "8"},
                                        {"--mixup", "0.2"},        {"--randaugment", "rand-m9-n2"},
                                        {"--mean", "0.5"}};
  for (const Arguments& more : cases) {
    EXPECT_NE(digest_of(train(1, synthetic, more).out), plain) << more[0];
  }
}

/// 90 images of two classes for training, 20 for testing; one of each cannot be read.
class Images : public testing::Test {
 protected:
  Images() {
    for (const char* part : {"train", "val"}) {
      const int count = std::string(part) == "train" ? 90 : 20;
      for (int i = 0; i < count; ++i) {
        const auto folder = folder_ / part / (i % 2 == 0 ? "even" : "odd");
        std::filesystem::create_directories(folder);
        std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
            << (i == 7 ? "damaged" : jpeg_file(40 + i % 9, 36, static_cast<std::uint32_t>(i)));
      }
    }
  }
  Arguments data(const std::string& place) const {
    return {"--dataset", "images", "--data-dir", place, "--image-size", "28"};
  }
  TemporaryFolder folder_;
};

TEST_F(Images, FilesThatCannotBeReadAreSkippedAlikeOnAnyNumberOfRanks) {
  only_digest(data(folder_.string()), {"--random-resized-crop", "--hflip", "0.5"});
  const Outcome one = train(1, data(folder_.string()), {});
  const std::string warning = "/train/odd/7.jpg: is neither a JPEG nor a PNG file; skipped\n";
  EXPECT_EQ(count(one.err, warning), 1) << one.err;
  Arguments arguments = {"train", "--strict"};
  const Arguments where = data(folder_.string());
  arguments.insert(arguments.end(), where.begin(), where.end());
  for (const int ranks : {0, 2}) {
    const Outcome strict = lockstep(ranks, arguments);
    EXPECT_EQ(strict.status, 3) << strict.err;
    EXPECT_NE(strict.err.find("7.jpg: is neither a JPEG nor a PNG file"), std::string::npos) << strict.err;
  }
}

/// In another epoch, another rank reads the file.
TEST_F(Images, AFileThatCannotBeReadIsNamedOnceInARun) {
  for (const int ranks : {2, 3}) {
    Arguments arguments = {"train", "--epochs", "8", "--batch-size", "48"};
    const Arguments where = data(folder_.string());
    arguments.insert(arguments.end(), where.begin(), where.end());
    const Outcome outcome = lockstep(ranks, arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    for (const char* part : {"train", "val"}) {
      const std::string warning = std::string("/") + part + "/odd/7.jpg: is neither a JPEG nor a PNG file";
      EXPECT_EQ(count(outcome.err, warning), 1) << outcome.err;
    }
  }
}

TEST_F(Images, SkippedSamplesAreCountedOnce) {
  for (const int ranks : {1, 3}) {
    const std::string run = (folder_ / ("run" + std::to_string(ranks))).string();
    const Outcome outcome = train(ranks, data(folder_.string()), {"--quiet", "--run-dir", run});
    for (const char* line :
         {"lockstep: warning: 1 of 90 training samples could not be read and were skipped\n",
          "lockstep: warning: 1 of 20 test samples could not be read and were skipped\n"}) {
      EXPECT_EQ(count(outcome.err, line), 1) << outcome.err;
    }
    const std::string text = contents(run + "/metrics.jsonl");
    EXPECT_NE(text.find(R"("train_left_out":1,"test_left_out":1)"), std::string::npos) << text;
  }
}

TEST_F(Images, DataOfWhichNothingCanBeReadIsAnError) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "train")) {
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 100);
  }
  Arguments arguments = {"train", "--epochs", "1"};
  const Arguments where = data(folder_.string());
  arguments.insert(arguments.end(), where.begin(), where.end());
  for (const int ranks : {0, 2}) {
    const Outcome outcome = lockstep(ranks, arguments);
    EXPECT_EQ(outcome.status, 3) << outcome.err;
    const std::string error = ": none of the 90 training samples of epoch 1 can be read\n";
    EXPECT_EQ(count(outcome.err, error), 1) << outcome.err;
  }
}

TEST_F(Images, PackedImagesTrain) {
  const std::string packed = (folder_ / "packed").string();
  const Outcome outcome = lockstep(0, {"data", "pack", folder_.string(), packed, "--size", "32"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("train  89 images of 2 classes in 1 file"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("7.jpg: is neither a JPEG nor a PNG file; skipped"), std::string::npos);
  only_digest(data(packed), {"--hflip", "0.5"});
  const Outcome stats =
      lockstep(0, {"data", "stats", "--dataset", "images", "--data-dir", packed, "--image-size", "28"});
  EXPECT_NE(stats.out.find("train  89 read, 0 not readable"), std::string::npos) << stats.out << stats.err;
  EXPECT_EQ(lockstep(0, {"data", "pack", folder_.string(), packed, "--strict"}).status, 3);
}

TEST_F(Images, StatsHaveWidthsAndHeightsApart) {
  std::ofstream(folder_ / "train/even/wide.jpg", std::ios::binary) << jpeg_file(90, 20, 1);
  std::ofstream(folder_ / "train/even/tall.jpg", std::ios::binary) << jpeg_file(10, 70, 1);
  const Outcome stats = lockstep(0, {"data", "stats", "--dataset", "images", "--data-dir", folder_.string()});
  EXPECT_NE(stats.out.find("train  widths 10 to 90, heights 20 to 70 pixels\n"), std::string::npos)
      << stats.out << stats.err;
  EXPECT_NE(stats.out.find("       even 47, odd 45\n"), std::string::npos) << stats.out;
}

TEST_F(Images, PackedFilesMayNotLieAmongTheImages) {
  const std::string place = folder_.string();
  const auto expect_refused = [](const std::string& from, const std::string& to, const std::string& reason) {
    const Outcome outcome = lockstep(0, {"data", "pack", from, to, "--test-fraction", "0.2"});
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_NE(outcome.err.find(to + ": " + reason), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(to + "/train.index"));
  };
  const std::string among = "lies in the folder of the classes, ";
  expect_refused(place + "/train", place + "/train", among + place + "/train");
  expect_refused(place + "/train", place + "/train/odd/../packed/", among);
  expect_refused(place + "/train", place, "holds the folder train, ");
  std::filesystem::rename(folder_ / "val", folder_ / "all");
  const Outcome same = lockstep(0, {"data", "pack", place, place, "--test-fraction", "0.2"});
  EXPECT_EQ(same.status, 2) << same.out;
  EXPECT_EQ(lockstep(0, {"data", "pack", place, place + "-packed", "--test-fraction", "0.2"}).status, 0);
  std::filesystem::remove_all(place + "-packed");
}

TEST_F(Images, FoldersPerClassAreDivided) {
  const std::string place = (folder_ / "train").string();  // no train or test in it
  const Arguments fraction = {"--test-fraction", "0.2"};
  only_digest(data(place), fraction);
  const auto with_fraction = [&](Arguments arguments) {
    arguments.insert(arguments.end(), fraction.begin(), fraction.end());
    const Outcome outcome = lockstep(0, arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  };
  const auto number_after = [](const std::string& text, const std::string& part) {
    return std::stoi(line_after(text, part));
  };
  const std::string shown = with_fraction({"data", "show", "--dataset", "images", "--data-dir", place});
  EXPECT_EQ(number_after(shown, "train  ") + number_after(shown, "test   "), 90) << shown;
  const std::string packed = (folder_ / "packed").string();
  const std::string pack = with_fraction({"data", "pack", place, packed});
  EXPECT_EQ(number_after(pack, "train  ") + number_after(pack, "test   "), 89) << pack;  // one cannot be read
  const Outcome refused =
      lockstep(0, {"data", "show", "--dataset", "images", "--data-dir", packed, "--test-fraction", "0.2"});
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_NE(refused.err.find("--test-fraction: has no effect beside " + packed + "/test.index"),
            std::string::npos)
      << refused.err;
  EXPECT_EQ(train(1, data(packed), {}).status, 0);
}

TEST_F(Images, FilesOfOtherKindsAreToldOnce) {
  std::ofstream(folder_ / "train/odd/1.webp") << "x";
  const std::string place = folder_.string();
  const std::string warning = "lockstep: warning: " + place +
                              "/train: 1 entry skipped, not CLASS/NAME.jpg, .jpeg or .png; the first is "
                              "odd/1.webp\n";
  const auto expect_once = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(count(outcome.err, warning), 1) << outcome.err;
  };
  expect_once(train(2, data(place), {"--max-steps", "1"}));
  expect_once(lockstep(0, {"data", "pack", place, (folder_ / "packed").string()}));
  for (const char* action : {"show", "stats"}) {
    expect_once(lockstep(2, {"data", action, "--dataset", "images", "--data-dir", place}));
  }
}

TEST_F(Images, BenchComparesReadingWithDecoding) {
  const Outcome images = lockstep(2, {"bench", "data", "--dataset", "images", "--data-dir", folder_.string(),
                                      "--image-size", "28", "--random-resized-crop", "--threads", "2",
                                      "--batch-size", "64", "--micro-batches", "8", "--steps", "3"});
  EXPECT_EQ(images.status, 0) << images.err;
  const std::regex table(
      R"(ranks 2  threads 2  samples of 3x28x28\n +img/s +per core\ndecode +\d+ +\d+\nload +\d+ +\d+\nload reaches \d+ % of decode\n)");
  EXPECT_TRUE(std::regex_match(images.out, table)) << images.out;
  EXPECT_NE(images.err.find("7.jpg: is neither a JPEG nor a PNG file; skipped"), std::string::npos);
}

TEST(Input, BenchReadsWhatIsNoImageFile) {
  Arguments arguments = {"bench", "data", "--crop-padding", "2", "--steps", "2"};
  arguments.insert(arguments.end(), synthetic.begin(), synthetic.end());
  const Outcome outcome = lockstep(0, arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nload "), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("decode"), std::string::npos) << outcome.out;
  arguments.insert(arguments.end(), {"--micro-batches", "7"});
  EXPECT_EQ(lockstep(0, arguments).status, 2);
}

}  // namespace
}  // namespace lockstep::test
