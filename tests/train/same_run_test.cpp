#include "train/same_run.h"

#include <gtest/gtest.h>

#include "data/sets/images/image_folder.h"
#include "data/sets/images/listed_images.h"
#include "lockstep/models.h"
#include "support/image_files.h"
#include "support/synthetic.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

Names differences(const std::vector<Line>& one, const std::vector<Line>& other) {
  Names names;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i].value != other[i].value) names.push_back(one[i].name);
  }
  return names;
}

const test::Synthetic data(40, {1, 28, 28}, 4);
const std::unique_ptr<Network> network = make_model("lenet", {1, 28, 28}, 4);
const std::vector<Line> identity = identity_of_run(*network, data, data);

/// tests/program/one_rank_only_test.cpp covers all options.
TEST(LinesOfRun, NamesWhatDiffers) {
  TrainerOptions other;
  other.optimizer.momentum = 0.3;
  EXPECT_EQ(differences(lines_of_run({}, identity), lines_of_run(other, identity)), Names{"momentum"});
  EXPECT_EQ(differences(lines_of_run({}, identity), lines_of_run({.input = {.strict = true}}, identity)),
            Names{"strict"})
      << "no effect on the digest";
  EXPECT_EQ(lines_of_run({}, identity),
            lines_of_run({.execution = {.threads = 3, .simd = SimdLevel::avx2}}, identity));
}

TEST(IdentityOfRun, HoldsTheDataSets) {
  EXPECT_EQ(identity[1], (Line{"training set", data.fingerprint()}));
  EXPECT_EQ(identity[2], (Line{"test set", data.fingerprint()}));
  EXPECT_EQ(differences(identity, identity_of_run(*network, data, data, &data)),
            (Names{"validation set", "contents of the validation files"}));
}

/// A different decoder library changes only the pixels. A flipped bit may change neither the pixels nor the
/// size of a file.
TEST(IdentityOfRun, HoldsPixelsAndBytesOfImageFiles) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "a");
  const std::string file = jpeg_file(40, 40, 1);
  for (int i = 0; i < 90; ++i) folder.write("a/" + std::to_string(100 + i) + ".jpg", file);
  const auto lines = [&] {
    const auto images = make_images(list_images(folder.path()), {3, 28, 28});
    return identity_of_run(*network, *images, *images);
  };
  const std::vector<Line> before = lines();
  EXPECT_EQ(lines(), before);
  std::string flipped = file;
  flipped.back() ^= 1;
  folder.write("a/101.jpg", flipped);
  const Names contents{"contents of the training files", "contents of the test files"};
  EXPECT_EQ(differences(before, lines()), contents);
  folder.write("a/100.jpg", jpeg_file(40, 40, 2));
  const std::string pixels = "decoded pixels of the test set";
  EXPECT_EQ(differences(before, lines()).back(), pixels);
}

}  // namespace
}  // namespace lockstep
