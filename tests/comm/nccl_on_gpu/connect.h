#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/device.h"

namespace lockstep {

/// NCCL for the tests of this folder: the real library on a GPU, or a fake on the fake CUDA runtime. `host`:
/// a communicator of one rank. Must outlive the communicators that it makes.
class NcclUnderTest {
 public:
  virtual ~NcclUnderTest() = default;
  virtual std::unique_ptr<Communicator> connect(Communicator& host, Device& device) = 0;
};
std::unique_ptr<NcclUnderTest> make_nccl_under_test();

}  // namespace lockstep
