#include <string>
#include <thread>

#include "comm/nccl/fake_nccl.h"
#include "comm/nccl_on_gpu/connect.h"
#include "fake_cuda/fake_cuda.h"

namespace lockstep {

/// Fake library whose abort waits for graphs, as NCCL's may.
class FakeNcclLibrary final : public NcclUnderTest {
 public:
  FakeNcclLibrary() {
    fake_.waits_in_abort = [] {
      while (fake_cuda::live_objects().find("executable graph") != std::string::npos)
        std::this_thread::yield();
    };
  }
  std::unique_ptr<Communicator> connect(Communicator& host, Device& device) override {
    return connect_by_nccl(host, "GPU 0", device, FakeNccl::options());
  }

 private:
  FakeNccl fake_;
};

std::unique_ptr<NcclUnderTest> make_nccl_under_test() { return std::make_unique<FakeNcclLibrary>(); }

}  // namespace lockstep
