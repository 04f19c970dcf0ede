#include "core/hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace lockstep {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Values of `xxhsum -H128`.
TEST(Digest, KnownAnswers) {
  Digest digest;
  EXPECT_EQ(digest.hex(), "99aa06d3014798d86001c324468d497f");
  digest.update(bytes_of("lockstep"));
  EXPECT_EQ(digest.hex(), "b4ead11c934f0a1e75345b2b871d8c38");
}

TEST(Digest, DoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += static_cast<char>(i * 7);
  }
  Digest whole;
  whole.update(bytes_of(text));
  Digest pieces;
  for (std::size_t begin = 0, length = 1; begin < text.size(); begin += length++) {
    pieces.update(bytes_of(std::string_view(text).substr(begin, length)));
  }
  EXPECT_EQ(pieces.hex(), whole.hex());
}

TEST(Digest, FloatsAreTheirLittleEndianBytes) {
  const std::vector<float> values = {1.0F, -2.5F};
  Digest floats;
  floats.update(std::span<const float>(values));
  Digest bytes;
  bytes.update(bytes_of(std::string_view("\x00\x00\x80\x3f\x00\x00\x20\xc0", 8)));
  EXPECT_EQ(floats.hex(), bytes.hex());
}

TEST(HashInteger, IsTheHashOfEightLittleEndianBytes) {
  Digest digest;
  digest.update(bytes_of(std::string_view("\x08\x07\x06\x05\x04\x03\x02\x01", 8)));
  const auto words = hash_integer(0x0102030405060708ULL);
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(words[1]),
                static_cast<unsigned long long>(words[0]));
  EXPECT_EQ(digest.hex(), text);
}

TEST(HashText, IsTheDigestOfItsBytes) {
  Digest digest;
  digest.update(bytes_of("lockstep"));
  EXPECT_EQ(hash_text("lockstep"), digest.words());
}

TEST(UnitInterval, HoldsEveryWord) {
  EXPECT_EQ(in_unit_interval(0), 0.0);
  EXPECT_EQ(in_unit_interval(1ULL << 63), 0.5);
  EXPECT_LT(in_unit_interval(~0ULL), 1.0);
}

}  // namespace
}  // namespace lockstep
