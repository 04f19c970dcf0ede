#include <gtest/gtest.h>

#include "comm/exchange_cases.h"
#include "comm/launch.h"

namespace lockstep {
namespace {

TEST(SelfCommunicator, SumsWhatIsThere) {
  for (const ExchangeCase& c : exchange_cases(1, 1000)) {
    const auto gpu = cuda::make_cuda_device();
    const std::size_t before = fake_cuda::allocated_by_thread().host_bytes;
    const auto cpu = make_cpu_device({.threads = 1, .pin = false});
    for (Device* device : {gpu.get(), cpu.get()}) {
      const auto alone = make_self_communicator();
      ExchangingRank rank(c, *alone, *device, launch);
      for (int run = 0; run < 2; ++run) EXPECT_EQ(rank.run(run), expected_results(c, run));
      EXPECT_EQ(rank.chunks, 1);
    }
    EXPECT_EQ(fake_cuda::allocated_by_thread().host_bytes, before) << "nothing leaves the device";
  }
}

}  // namespace
}  // namespace lockstep
