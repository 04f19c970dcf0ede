#include "run/checkpoint/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/hash.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

const std::string hash = "00112233445566778899aabbccddeeff";
const std::string first_line = "lockstep checkpoint 1\n";

/// `lines`, followed by the last line of a manifest, with the hash of `lines`.
std::string closed(const std::string& lines) {
  return fmt::format("{}MANIFEST xxh3:{}\n", lines, Digest(lines).hex());
}

Manifest parse(const std::string& text) { return parse_manifest(text, "MANIFEST"); }

void expect_bad(const std::string& text, const std::string& part) {
  expect_error(Category::data, {"MANIFEST: ", part}, [&] { parse(text); });
}

TEST(Manifest, RoundTrip) {
  const Manifest manifest = {{"model.safetensors", 0, hash}, {"a_B-9", UINT64_MAX, hash}};
  const std::string text = manifest_text(manifest);
  EXPECT_EQ(text, closed(first_line + "model.safetensors 0 xxh3:" + hash +
                         "\na_B-9 18446744073709551615 xxh3:" + hash + "\n"));
  EXPECT_EQ(parse(text), manifest);
  EXPECT_TRUE(parse(manifest_text({})).empty());
}

TEST(Manifest, EveryTruncationAndEveryFlippedBitIsFound) {
  const std::string text = manifest_text({{"model.safetensors", 123, hash}, {"state.json", 4, hash}});
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_THROW(parse(text.substr(0, length)), Error) << length;
  }
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(parse(flipped), Error) << bit;
  }
}

TEST(Manifest, Reasons) {
  const std::string text = manifest_text({{"state.json", 4, hash}});
  expect_bad("", "does not begin with 'lockstep checkpoint 1'");
  expect_bad("lockstep checkpoint 0\n", "does not begin with 'lockstep checkpoint 1'");
  expect_bad(text.substr(0, text.size() - 1), "is cut off in its last line");
  expect_bad(first_line, "the hash of its lines is not the one in the last line");
  expect_bad(text + "more\n", "the hash of its lines is not the one in the last line");
}

TEST(Manifest, NewerFormats) {
  const std::string text = manifest_text({{"state.json", 4, hash}});
  const auto with_format = [&](const std::string& format) {
    return fmt::format("lockstep checkpoint {}{}", format, text.substr(first_line.size() - 1));
  };
  expect_bad("lockstep checkpoint 2\n",
             "made by a newer lockstep: its format is 2, and this version reads format 1");
  expect_bad(with_format("2"), "its format is 2");
  expect_bad(with_format("12"), "its format is 12");
  expect_bad(closed("lockstep checkpoint 3\n"), "its format is 3");
  expect_bad(with_format("3"), "does not begin with 'lockstep checkpoint 1'");  // one flipped bit
}

/// Malformed lines, in manifests whose hash is right.
TEST(Manifest, OtherLines) {
  for (const std::string& line : std::initializer_list<std::string>{
           "", " ", "x", "x 1", "x 1 ", "x 1 xxh3:", "x 1 xxh3:00", "x  1 xxh3:" + hash, "x 01 xxh3:" + hash,
           "x -1 xxh3:" + hash, "x 18446744073709551616 xxh3:" + hash, "x 1 md5:" + hash,
           "x 1 xxh3:" + hash + " ", "x 1 xxh3:00112233445566778899AABBCCDDEEFF", ".x 1 xxh3:" + hash,
           "../x 1 xxh3:" + hash, " 1 xxh3:" + hash, "\x01 1 xxh3:" + hash, "x 1 xxh3:" + hash + "\r"}) {
    expect_bad(closed(first_line + line + "\n"), "line 2: '");
  }
  const std::string good = "x 1 xxh3:" + hash + "\n";
  EXPECT_EQ(parse(closed(first_line + good)).size(), 1U);
  expect_bad(closed(first_line + good + good), "line 3: 'x' occurs twice");
}

}  // namespace
}  // namespace lockstep
