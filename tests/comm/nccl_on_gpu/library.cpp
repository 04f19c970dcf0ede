#include "comm/gpu_communicator.h"
#include "comm/nccl_on_gpu/connect.h"

namespace lockstep {
namespace {

class Library final : public NcclUnderTest {
  std::unique_ptr<Communicator> connect(Communicator& host, Device& device) override {
    return make_nccl_communicator(host, "0", device);
  }
};

}  // namespace

std::unique_ptr<NcclUnderTest> make_nccl_under_test() { return std::make_unique<Library>(); }

}  // namespace lockstep
