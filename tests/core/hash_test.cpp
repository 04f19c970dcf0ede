#include "core/hash.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "core/random/hash_integer.h"

namespace lockstep {
namespace {

// Values of `xxhsum -H128`.
TEST(Digest, KnownAnswers) {
  EXPECT_EQ(Digest().hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(Digest("lockstep").hex(), "b4ead11c934f0a1e75345b2b871d8c38");
}

TEST(Digest, DoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7);
  Digest pieces;
  for (std::size_t begin = 0, length = 1; begin < text.size(); begin += length++) {
    const std::string_view piece = std::string_view(text).substr(begin, length);
    pieces.update(std::as_bytes(std::span(piece)));
  }
  EXPECT_EQ(pieces.hex(), Digest(text).hex());
}

TEST(Digest, FloatsAreTheirLittleEndianBytes) {
  const std::vector<float> values = {1.0F, -2.5F};
  Digest floats;
  floats.update(std::span<const float>(values));
  EXPECT_EQ(floats.hex(), Digest(std::string_view("\x00\x00\x80\x3f\x00\x00\x20\xc0", 8)).hex());
}

TEST(HashInteger, IsTheHashOfEightLittleEndianBytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 10000; ++i) {
    const Wide hash = hash_integer(value);
    const Digest digest(std::as_bytes(std::span(&value, 1)));
    ASSERT_EQ(digest.words(), (std::array<std::uint64_t, 2>{hash.low, hash.high})) << value;
    value = i < 100 ? value + 1 : value * 0x9e3779b97f4a7c15ULL + 1;  // first small, then all 64 bits
  }
}

TEST(Wide, AddsAndMultipliesWithCarries) {
  Wide sum{~0ULL, 7};
  sum += {1, ~0ULL};
  EXPECT_EQ(sum.low, 0U);
  EXPECT_EQ(sum.high, 7U);
  const Wide square = multiply_wide(~0ULL, ~0ULL);
  EXPECT_EQ(square.low, 1U);
  EXPECT_EQ(square.high, ~0ULL - 1);
  const Wide product = multiply_wide(0x123456789abcdef0ULL, 0xfedcba9876543210ULL);
  EXPECT_EQ(product.low, 0x236d88fe5618cf00ULL);
  EXPECT_EQ(product.high, 0x121fa00ad77d7422ULL);
}

}  // namespace
}  // namespace lockstep
