#include <gtest/gtest.h>

#include "comm/gpu_communicator.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

TEST(NoNccl, SaysWhatIsMissing) {
  const auto host = make_self_communicator();
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  try {
    make_nccl_communicator(*host, "0000:1b:00", *device);
    FAIL() << "made";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::resource);
    EXPECT_STREQ(error.what(), "this program was built without NCCL");
  }
  EXPECT_THROW(nccl_version(), Error);
}

}  // namespace
}  // namespace lockstep
