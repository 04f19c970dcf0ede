#include "data/files/idx.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/idx_files.h"

namespace lockstep {
namespace {

TEST(Idx, ValuesAreAViewOfTheFile) {
  const std::string file = idx({2, 1, 3}, "abcdef"), empty = idx({0, 28, 28}, "");
  const IdxArray array = parse_idx(bytes_of(file), {.name = "images", .dimensions = 3});
  EXPECT_EQ(array.dimensions, (std::vector<std::uint32_t>{2, 1, 3}));
  EXPECT_EQ(reinterpret_cast<const char*>(array.values.data()), file.data() + 16);
  EXPECT_EQ(array.values.size(), 6U);
  EXPECT_TRUE(parse_idx(bytes_of(empty), {.name = "images", .dimensions = 3}).values.empty());
}

TEST(Idx, BadInput) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "an IDX header needs 16 bytes, file holds 0"},
      {idx({1, 2, 3}, "").substr(0, 15), "an IDX header needs 16 bytes, file holds 15"},
      {idx({6, 1}, "abcdefgh"),
       "magic number 0x00000802 at byte 0, IDX bytes of 3 dimensions have 0x00000803"},
      {"this is a text file, no data", "magic number 0x74686973"},
      {idx({2, 1, 3}, "abcde"), "header promises 2x1x3 bytes, file holds 5 after decompression"},
      {idx({2, 1, 3}, "abcdefg"), "header promises 2x1x3 bytes, file holds 7"},
      // Products that overflow do not match.
      {idx({65536, 65536, 65536}, ""), "header promises 65536x65536x65536 bytes, file holds 0"},
      {idx({~0U, ~0U, ~0U}, "a"), "header promises 4294967295x4294967295x4294967295 bytes"}};
  for (const auto& [file, message] : cases) {
    expect_error(Category::data, {"images: " + message}, [&file = file] {
      parse_idx(bytes_of(file), {.name = "images", .compressed = true, .dimensions = 3});
    });
  }
}

}  // namespace
}  // namespace lockstep
