#include "train/same_run.h"

#include <gtest/gtest.h>

#include <functional>

#include "data/sets/csv_dataset.h"
#include "data/sets/images/image_folder.h"
#include "lockstep/models.h"
#include "support/image_files.h"
#include "support/temporary_folder.h"
#include "train/synthetic.h"

namespace lockstep {
namespace {

/// Names of the lines that differ between `changed` and the default options.
std::vector<std::string> differences(const TrainerOptions& changed) {
  const test::Synthetic data(40, {1, 28, 28}, 4);
  const auto network = make_model("lenet", {1, 28, 28}, 4);
  const std::vector<Line> one = lines_of_run({}, identity_of_run(*network, data, data));
  const std::vector<Line> other = lines_of_run(changed, identity_of_run(*network, data, data));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i].value != other[i].value) names.push_back(one[i].name);
  }
  return names;
}

TEST(LinesOfRun, TellsWhatDiffers) {
  using Change = std::function<void(TrainerOptions&)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"epochs", [](TrainerOptions& o) { o.epochs = 3; }},
      {"lr", [](TrainerOptions& o) { o.learning_rate = 0.3F; }},
      {"sched-power", [](TrainerOptions& o) { o.schedule.power = 2; }},
      {"momentum", [](TrainerOptions& o) { o.optimizer.momentum = 0.3; }},
      {"weight-decay", [](TrainerOptions& o) { o.optimizer.weight_decay = 0.3; }},
      {"freeze", [](TrainerOptions& o) { o.optimizer.freeze = {"conv1"}; }},
      {"mixup", [](TrainerOptions& o) { o.augment.mixup = 0.3; }},
      {"strict", [](TrainerOptions& o) { o.input.strict = true; }},
      {"smoothing", [](TrainerOptions& o) { o.label_smoothing = 0.3F; }},
      {"seed", [](TrainerOptions& o) { o.seed = 3; }},
      {"reduce", [](TrainerOptions& o) { o.reduce = Reduce::ring; }}};
  for (const auto& [name, change] : cases) {
    TrainerOptions options;
    change(options);
    EXPECT_EQ(differences(options), std::vector<std::string>{name});
  }
  EXPECT_TRUE(differences({.execution = {.threads = 3, .simd = SimdLevel::avx2}}).empty());
}

TEST(LinesOfRun, TellsWhetherThereIsAValidationSet) {
  const test::Synthetic data(40, {1, 28, 28}, 4);
  const auto network = make_model("lenet", {1, 28, 28}, 4);
  EXPECT_NE(lines_of_run({}, identity_of_run(*network, data, data)),
            lines_of_run({}, identity_of_run(*network, data, data, &data)));
}

/// Swaps two rows of one class in a large table.
TEST(LinesOfRun, HoldsAllSamples) {
  const auto training_set = [](bool swapped) {
    std::string text = "x,label\n";
    for (int row = 0; row < 3000; ++row) {
      const int value = swapped && (row == 1001 || row == 1003) ? 2004 - row : row;
      text += std::to_string(value) + (row % 2 == 0 ? ",a\n" : ",b\n");
    }
    const CsvTable table = parse_csv_table(text, "t.csv", "");
    const DatasetPair data = make_csv_datasets(table, table);
    const auto network = make_model("mlp", data.train->shape(), 2);
    for (const Line& line : lines_of_run({}, identity_of_run(*network, *data.train, *data.test))) {
      if (line.name == "training set") return line.value;
    }
    return std::string();
  };
  EXPECT_EQ(training_set(false), training_set(false));
  EXPECT_NE(training_set(false), training_set(true));
}

/// Another library changes only the pixels: the files remain the same.
TEST(LinesOfRun, HoldsPixelsOfImageFiles) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "a");
  folder.write("a/1.jpg", jpeg_file(40, 40, 1));
  const auto network = make_model("lenet", {3, 28, 28}, 1);
  const auto decoding = [&] {
    const auto data = make_image_folder(list_images(folder.path()), {3, 28, 28});
    const std::vector<Line> given = lines_of_run({}, identity_of_run(*network, *data, *data));
    EXPECT_EQ(given.back().name, "pixels of the test set by libjpeg and libpng");
    return given.back().value;
  };
  const std::string first = decoding();
  EXPECT_EQ(decoding(), first);
  folder.write("a/1.jpg", jpeg_file(40, 40, 2));
  EXPECT_NE(decoding(), first);
}

/// Sizes stay, and the file is none of the few that Dataset::fingerprint reads.
TEST(LinesOfRun, HoldsTheBytesOfAllFilesOfASmallFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "a");
  std::string file = jpeg_file(40, 40, 1);
  for (int i = 0; i < 90; ++i) folder.write("a/" + std::to_string(100 + i) + ".jpg", file);
  const auto network = make_model("lenet", {3, 28, 28}, 1);
  const auto lines = [&] {
    const auto data = make_image_folder(list_images(folder.path()), {3, 28, 28});
    return identity_of_run(*network, *data, *data);
  };
  const std::vector<Line> before = lines();
  EXPECT_EQ(lines(), before);
  file.back() ^= 1;
  folder.write("a/101.jpg", file);
  std::vector<std::string> changed;
  const std::vector<Line> after = lines();
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].value != before[i].value) changed.push_back(after[i].name);
  }
  EXPECT_EQ(changed,
            (std::vector<std::string>{"contents of the training files", "contents of the test files"}));
}

}  // namespace
}  // namespace lockstep
