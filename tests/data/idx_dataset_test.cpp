#include "data/sets/idx_dataset.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/expect_error.h"
#include "support/idx_files.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

const IdxDescription description = {.name = "tiny",
                                    .shape = {.channels = 1, .height = 2, .width = 3},
                                    .classes = 10,
                                    .default_directory = "",
                                    .advice = "fetch it"};

std::unique_ptr<Dataset> open_train(const TemporaryFolder& folder) {
  const std::vector<PackedFile> files = find_idx_files(folder.path(), "train", description.advice);
  return make_idx_dataset(description, files, HostBlock(files));
}

/// Contents of the two files of the split; `extension` is empty or .gz.
struct Files {
  std::string images = idx({2, 2, 3}, "abcdefABCDEF");
  std::string labels = idx({2}, std::string("\x07\x00", 2));
  std::string extension = "";
};

void write_files(const TemporaryFolder& folder, const Files& files) {
  folder.write("train-images-idx3-ubyte" + files.extension, files.images);
  folder.write("train-labels-idx1-ubyte" + files.extension, files.labels);
}

void expect_bad(const Files& files, const std::vector<std::string>& parts) {
  const TemporaryFolder folder;
  write_files(folder, files);
  expect_error(Category::data, parts, [&] { open_train(folder); });
}

void expect_samples(const Dataset& data) {
  EXPECT_EQ(data.size(), 2U);
  EXPECT_EQ(data.shape(), description.shape);
  EXPECT_EQ(data.classes(), 10);
  std::vector<std::uint8_t> buffer;
  const auto image = data.sample(1, buffer);
  EXPECT_EQ(std::string(image.begin(), image.end()), "ABCDEF");
  EXPECT_EQ(data.label(0), 7);
  EXPECT_EQ(data.label(1), 0);
}

TEST(IdxDataset, PlainAndCompressedFiles) {
  const Files plain;
  const Files packed = {.images = gzip(plain.images), .labels = gzip(plain.labels), .extension = ".gz"};
  const Files packed_without_extension = {.images = packed.images, .labels = packed.labels};
  for (const Files& files : {plain, packed, packed_without_extension}) {
    const TemporaryFolder folder;
    write_files(folder, files);
    expect_samples(*open_train(folder));
  }
}

TEST(IdxDataset, MissingFolderOrFileSaysHowToGetIt) {
  const TemporaryFolder folder;
  expect_error(Category::data, {"/no/such/place: no such folder; fetch it"},
               [] { find_idx_files("/no/such/place", "train", "fetch it"); });
  expect_error(Category::data, {folder.path().string() + ": no train-images-idx3-ubyte.gz there; fetch it"},
               [&] { open_train(folder); });
  folder.write("train-images-idx3-ubyte", Files{}.images);
  expect_error(Category::data, {": no train-labels-idx1-ubyte.gz there; fetch it"},
               [&] { open_train(folder); });
}

TEST(IdxDataset, FilesThatCannotBeRead) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "train-images-idx3-ubyte");
  expect_error(Category::data, {"train-images-idx3-ubyte: not a regular file"}, [&] { open_train(folder); });
  expect_bad({.images = ""}, {"train-images-idx3-ubyte: file is empty"});
}

TEST(IdxDataset, HeadersThatDoNotFit) {
  expect_bad({.images = idx({12}, "abcdefABCDEF")}, {"train-images-idx3-ubyte: magic number 0x00000801"});
  expect_bad({.labels = idx({2, 1}, "ab")}, {"train-labels-idx1-ubyte: magic number 0x00000802"});
  expect_bad({.images = gzip(idx({3, 2, 3}, "abcdefABCDEF")), .extension = ".gz"},
             {"train-images-idx3-ubyte.gz: header promises 3x2x3 bytes, file holds 12 after decompression"});
  expect_bad({.labels = idx({3}, "\1\2\3")}, {"train-labels-idx1-ubyte: 3 labels for 2 images of "});
  expect_bad({.images = idx({2, 3, 2}, "abcdefABCDEF")}, {"images of 3x2 pixels, tiny has 2x3"});
  expect_bad({.images = idx({0, 2, 3}, ""), .labels = idx({0}, "")},
             {"train-images-idx3-ubyte: holds no images"});
}

TEST(IdxDataset, LabelOutOfRangeNamesTheSample) {
  expect_bad({.labels = idx({2}, "\x09\x0a")},
             {"train-labels-idx1-ubyte: label 10 of sample 1 is out of range, tiny has classes 0 to 9"});
}

}  // namespace
}  // namespace lockstep
