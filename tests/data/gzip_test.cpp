#include "data/files/gzip.h"

#include <gtest/gtest.h>

#include <array>

#include "support/expect_error.h"
#include "support/idx_files.h"

namespace lockstep {
namespace {

std::string gunzip_text(const std::string& packed, std::size_t size) {
  std::string text(size, '?');
  gunzip(bytes_of(packed), std::as_writable_bytes(std::span(text)), "file.gz");
  return text;
}

void expect_bad(const std::string& packed, std::size_t size, const std::string& part) {
  expect_error(Category::data, {"file.gz: ", part}, [&] { gunzip_text(packed, size); });
}

TEST(Gunzip, RoundTrip) {
  const std::string text = std::string(100000, 'a') + "end";
  EXPECT_EQ(gunzip_text(gzip(text), text.size()), text);
  EXPECT_EQ(gunzip_text(gzip(""), 0), "");
}

TEST(Gunzip, MembersBehindEachOtherAreOneStream) {
  EXPECT_EQ(gunzip_text(gzip("one,") + gzip("two"), 7), "one,two");
  EXPECT_EQ(gunzip_text(gzip("text") + std::string(512, '\0'), 4), "text");
}

TEST(Gunzip, BadInput) {
  const std::string packed = gzip("some text that is some text");
  std::string flipped = packed;
  flipped[flipped.size() / 2] ^= 0x10;
  std::string wrong_crc = packed;
  wrong_crc[wrong_crc.size() - 8] ^= 1;
  expect_bad("", 27, "no gzip data at byte 0");
  expect_bad("plain text", 27, "no gzip data at byte 0");
  expect_bad(packed.substr(0, packed.size() - 1), 27,
             "truncated or damaged gzip data in the member at byte 0");
  expect_bad(packed.substr(0, 5), 27, "truncated or damaged");
  expect_bad(flipped, 27, "truncated or damaged");
  expect_bad(wrong_crc, 27, "truncated or damaged");
  expect_bad(packed + "tail", 27, "no gzip data at byte " + std::to_string(packed.size()));
  expect_bad(packed, 28, "decompresses to 27 bytes, 28 were expected");
  expect_bad(packed, 26, "decompresses to more than 26 bytes");
}

TEST(Gunzip, NeverWritesPastTheDestination) {
  const std::string packed = gzip(std::string(10000, 'x'));
  std::string memory(2000, '.');
  EXPECT_THROW(gunzip(bytes_of(packed), std::as_writable_bytes(std::span(memory).first(1000)), "file.gz"),
               Error);
  EXPECT_EQ(memory.substr(1000), std::string(1000, '.'));
}

TEST(GzipSize, IsThePromiseOfTheTrailerWithinDeflatesRatio) {
  const auto size = [](std::uint64_t compressed, std::array<unsigned char, 4> trailer) {
    return gzip_size(compressed, std::as_bytes(std::span(trailer)), "file.gz");
  };
  EXPECT_EQ(size(100, {0x10, 0x27, 0, 0}), 10000U);
  EXPECT_EQ(size(100, {0x20, 0x93, 1, 0}), 103200U);
  expect_error(Category::data,
               {"file.gz: ", "promises 4294967295 bytes, which 100 compressed ones cannot hold"}, [&] {
                 size(100, {0xff, 0xff, 0xff, 0xff});
               });
}

}  // namespace
}  // namespace lockstep
