#include <gtest/gtest.h>

#include "comm/gpu_communicator.h"
#include "device/cpu/cpu_device.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

TEST(NoNccl, SaysWhatIsMissing) {
  const auto host = make_self_communicator();
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  expect_exact_error(Category::resource, "this program was built without NCCL",
                     [&] { make_nccl_communicator(*host, "0000:1b:00", *device); });
  EXPECT_THROW(nccl_version(), Error);
}

}  // namespace
}  // namespace lockstep
