#include "core/process/interfaces.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

TEST(Interfaces, OfThisHostHaveTheLoopback) {
  const std::vector<Interface> all = own_interfaces();
  const auto loopback = std::ranges::find(all, true, &Interface::is_loopback);
  if (loopback == all.end()) GTEST_SKIP() << "no loopback interface is up here";
  EXPECT_EQ(loopback->address, "127.0.0.1");
  EXPECT_EQ(loopback->prefix, 8);
}

TEST(Interfaces, AddressesAreNumbers) {
  EXPECT_EQ(address_number("127.0.0.1"), 0x0100007fU);
  for (const char* text : {"", "localhost", "1.2.3", "::1", "1.2.3.256"}) EXPECT_EQ(address_number(text), 0U);
}

}  // namespace
}  // namespace lockstep
