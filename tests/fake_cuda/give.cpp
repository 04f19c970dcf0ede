// Kernels of the host for the device of src/device/cuda/native.
#include "device/cuda/launch_on_host.h"
#include "device/cuda/native/check.h"
#include "fake_cuda/fake_cuda.h"

namespace lockstep::cuda {

/// Asks for the last error after the launch, as src/device/cuda/native/launch.h does: an error that was left
/// there shows here.
void give(StreamHandle stream, const char* name, std::span<const std::byte> arguments,
          std::function<void()> work) {
  if (stream == nullptr) return work();
  fake_cuda::launch(stream, name, arguments, std::move(work));
  check_cuda(cudaGetLastError(), "kernel launch");
}

}  // namespace lockstep::cuda
