#include <gtest/gtest.h>

#include "comm/exchange_cases.h"

namespace lockstep {
namespace {

TEST(SelfCommunicatorOfADevice, ExchangesWhatIsThere) {
  for (const ExchangeCase& c : exchange_cases(1, 1000)) {
    for (const Calls calls : {Calls::one, Calls::halves}) {
      GraphDevice gpu;
      const auto alone = make_self_communicator(gpu, gpu.stream);
      ExchangingRank rank(c, *alone, gpu, calls);
      for (int run = 0; run < 2; ++run) EXPECT_EQ(rank.run(run), expected_results(c, run));
      EXPECT_EQ(gpu.host_bytes, 0U) << "nothing leaves the device";
    }
  }
}

TEST(SelfCommunicatorOfADevice, GathersItsOwnBytes) {
  GraphDevice gpu;
  const auto alone = make_self_communicator(gpu, gpu.stream);
  const Buffer own = gpu.allocate(3), all = gpu.allocate(3);
  const std::vector<std::size_t> bytes{3};
  const auto program = gpu.record([&] { alone->all_gather_bytes({own.data(), 3}, bytes, {all.data(), 3}); });
  gpu.copy(own.data(), "abc", 3);
  program->run();
  std::string gathered(3, ' ');
  gpu.copy(gathered.data(), all.data(), 3);
  EXPECT_EQ(gathered, "abc");
}

}  // namespace
}  // namespace lockstep
