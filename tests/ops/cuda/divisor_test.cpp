#include "ops/cuda/kernels/divisor.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lockstep::cuda {
namespace {

TEST(Divisor, DividesExactly) {
  for (const std::uint32_t divisor :
       {1U, 2U, 3U, 7U, 9U, 25U, 49U, 64U, 641U, 65535U, 65537U, 50176U, 0x7fffffffU, 0x80000000U}) {
    const Divisor by(divisor);
    const auto expect = [&](std::uint32_t n) {
      EXPECT_EQ(by.quotient(n), n / divisor) << n << " / " << divisor;
    };
    for (std::uint32_t n = 0; n < 2000; ++n) expect(n);
    for (std::uint32_t n = 0xffffffffU; n > 0xffffffffU - 2000; --n) expect(n);
    // Errors in the quotient show around multiples of the divisor.
    for (std::uint64_t q = 1; q * divisor <= 0xffffffffU; q = q * 3 / 2 + 1) {
      const auto multiple = static_cast<std::uint32_t>(q * divisor);
      expect(multiple - 1);
      expect(multiple);
    }
    const std::uint32_t last = 0xffffffffU / divisor * divisor;
    expect(last - 1);
    expect(last);
  }
}

}  // namespace
}  // namespace lockstep::cuda
