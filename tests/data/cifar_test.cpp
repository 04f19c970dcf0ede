#include "data/sets/cifar.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/idx_files.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

const CifarDescription hundred = {.name = "cifar100",
                                  .folder = "cifar-100-binary",
                                  .train_files = {"a.bin", "b.bin"},
                                  .test_files = {},
                                  .label_bytes = 2,
                                  .classes = 100,
                                  .names_file = ""};

/// One image whose planes are `value`, `value` + 1 and `value` + 2.
std::string record(char coarse, char fine, char value) {
  std::string text;
  text += coarse;
  text += fine;
  for (const int plane : {0, 1, 2}) text.append(1024, static_cast<char>(value + plane));
  return text;
}

std::unique_ptr<Dataset> open_split(const TemporaryFolder& folder) {
  const std::vector<PackedFile> files = find_cifar_files(hundred, folder.path(), hundred.train_files);
  return make_cifar_dataset(hundred, files, HostBlock(files), {});
}

TEST(Cifar, TheFineLabelCountsAndFilesFollowEachOther) {
  const TemporaryFolder folder;
  folder.write("a.bin", record(19, 99, 10) + record(3, 4, 20));
  folder.write("b.bin", gzip(record(1, 2, 30)));
  const auto data = open_split(folder);
  EXPECT_EQ(data->size(), 3U);
  EXPECT_EQ(data->shape(), (Shape{3, 32, 32}));
  EXPECT_EQ(data->label(0), 99);
  EXPECT_EQ(data->label(2), 2);
  std::vector<std::uint8_t> buffer;
  const auto pixels = data->sample(2, buffer);
  EXPECT_EQ(pixels.size(), 3072U);
  EXPECT_EQ(pixels[0], 30);
  EXPECT_EQ(pixels[1024], 31);
  EXPECT_EQ(pixels[3071], 32);
}

TEST(Cifar, BadFilesAreNamed) {
  const TemporaryFolder folder;
  expect_error(Category::data,
               {folder.path().string() + ": no a.bin there", "cifar-100-binary, which must be named"},
               [&] { open_split(folder); });
  folder.write("a.bin", record(1, 2, 3).substr(1));
  folder.write("b.bin", record(1, 100, 3));
  expect_error(Category::data,
               {"a.bin: 3073 bytes are not a multiple of the length of cifar100's records, 3074 bytes"},
               [&] { open_split(folder); });
  folder.write("a.bin", record(1, 2, 3));
  expect_error(Category::data, {"b.bin: class 100 at byte 1 is out of range, cifar100 has 0 to 99"},
               [&] { open_split(folder); });
  folder.write("a.bin", "");
  expect_error(Category::data, {"a.bin: file is empty"}, [&] { open_split(folder); });
}

}  // namespace
}  // namespace lockstep
