#include "data/files/idx.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/idx_files.h"

namespace lockstep {
namespace {

void expect_bad(const std::string& file, bool compressed, const std::string& message) {
  expect_error(Category::data, {message}, [&] {
    parse_idx(bytes_of(file), {.name = "images", .compressed = compressed, .dimensions = 3});
  });
}

TEST(Idx, ValuesAreAViewOfTheFile) {
  const std::string file = idx({2, 1, 3}, "abcdef");
  const IdxArray array = parse_idx(bytes_of(file), {.name = "images", .dimensions = 3});
  EXPECT_EQ(array.dimensions, (std::vector<std::uint32_t>{2, 1, 3}));
  EXPECT_EQ(reinterpret_cast<const char*>(array.values.data()), file.data() + 16);
  EXPECT_EQ(array.values.size(), 6U);
}

TEST(Idx, NoValues) {
  const std::string file = idx({0, 28, 28}, "");
  EXPECT_TRUE(parse_idx(bytes_of(file), {.name = "images", .dimensions = 3}).values.empty());
}

TEST(Idx, BadInput) {
  expect_bad("", false, "images: an IDX header needs 16 bytes, file holds 0");
  expect_bad(idx({1, 2, 3}, "").substr(0, 15), false, "images: an IDX header needs 16 bytes, file holds 15");
  expect_bad(idx({6, 1}, "abcdefgh"), false,
             "images: magic number 0x00000802 at byte 0, IDX bytes of 3 dimensions have 0x00000803");
  expect_bad("this is a text file, no data", false, "images: magic number 0x74686973");
  expect_bad(idx({2, 1, 3}, "abcde"), true,
             "images: header promises 2x1x3 bytes, file holds 5 after decompression");
  expect_bad(idx({2, 1, 3}, "abcdefg"), false, "images: header promises 2x1x3 bytes, file holds 7");
}

TEST(Idx, SizesThatOverflowDoNotMatch) {
  expect_bad(idx({65536, 65536, 65536}, ""), false, "header promises 65536x65536x65536 bytes, file holds 0");
  expect_bad(idx({~0U, ~0U, ~0U}, "a"), false, "header promises 4294967295x4294967295x4294967295 bytes");
}

}  // namespace
}  // namespace lockstep
