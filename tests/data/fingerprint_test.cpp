// Data sets have equal fingerprints if and only if runs on them have the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/sets/images/image_folder.h"
#include "data/sets/images/listed_images.h"
#include "data/sets/images/pack_images.h"
#include "data/sets/images/packed_images.h"
#include "support/image_files.h"
#include "support/tables.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

constexpr Shape shape = {.channels = 3, .height = 24, .width = 24};
constexpr int rows = 3000;

/// Fingerprint of a table of rows 0 to 2999, with rows `swapped` and `swapped` + 2 exchanged and the class of
/// row `relabelled` changed.
std::string table_fingerprint(int swapped, int relabelled) {
  std::string text = "x,label\n";
  for (int row = 0; row < rows; ++row) {
    const int value = row == swapped ? row + 2 : (row == swapped + 2 ? swapped : row);
    text += std::to_string(value) + (row % 2 == (row == relabelled ? 1 : 0) ? ",even\n" : ",odd\n");
  }
  return csv_datasets(text, text).train->fingerprint();
}

TEST(Fingerprint, HoldsEveryRowOfATable) {
  constexpr int none = -10;
  const std::string all = table_fingerprint(none, none);
  EXPECT_EQ(all.size(), 32U);
  EXPECT_EQ(table_fingerprint(none, none), all);
  for (const int row : {0, 1, 1001, 2990, 2997}) EXPECT_NE(table_fingerprint(row, none), all) << row;
  for (const int row : {0, 1, 1001, 2999}) EXPECT_NE(table_fingerprint(none, row), all) << row;
}

/// 200 files of two classes.
struct Pictures : TemporaryFolder {
  Pictures() {
    const std::string image = jpeg_file(30, 30, 1);
    for (const char* name : {"cat", "dog"}) {
      for (int i = 100; i < 200; ++i) write(fmt::format("{}/{}.jpg", name, i), image);
    }
  }
  std::string fingerprint() const { return make_images(list_images(path()), shape)->fingerprint(); }
  std::string packed_fingerprint() const {
    const TemporaryFolder packed;
    pack_images(list_images(path()), packed.path(), "train", {});
    return open_packed_images(packed.path(), "train", shape)->fingerprint();
  }
};

TEST(Fingerprint, HoldsNamesAndSizesOfAllImageFiles) {
  const Pictures pictures;
  const std::string all = pictures.fingerprint();
  EXPECT_EQ(Pictures().fingerprint(), all);
  pictures.write("cat/101.jpg", "short");
  const std::string shorter = pictures.fingerprint();
  EXPECT_NE(shorter, all);
  std::filesystem::rename(pictures.path() / "dog/102.jpg", pictures.path() / "dog/102a.jpg");
  EXPECT_NE(pictures.fingerprint(), shorter);
}

TEST(Fingerprint, HoldsContentsOfAllPackedImages) {
  const Pictures pictures;
  const std::string all = pictures.packed_fingerprint();
  EXPECT_EQ(Pictures().packed_fingerprint(), all);
  pictures.write("dog/157.jpg", jpeg_file(30, 30, 2));
  EXPECT_NE(pictures.packed_fingerprint(), all);
}

}  // namespace
}  // namespace lockstep
