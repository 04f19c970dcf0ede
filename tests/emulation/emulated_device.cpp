#include "device/cuda/cuda_device.h"
#include "emulation/eager_device.h"
#include "emulation/graph_device.h"
#include "emulation/kernel_arguments.h"

namespace lockstep::cuda {

StreamHandle handle_of(const Stream& stream) { return static_cast<const CudaStream&>(stream).handle(); }

CudaStream& communication_stream(Device& device) {
  return static_cast<CudaDevice&>(device).communication_stream();
}

void give(StreamHandle stream, const char* name, std::span<const std::byte> arguments,
          std::function<void()> work) {
  if (stream == nullptr) return GuardedMemory::open_all_for(work);
  for (const void* address : addresses_in(arguments)) {
    if (GuardedMemory::is_accessible(address) || !is_mapped(address)) continue;
    throw Error(Category::internal, readable(name) + ": an argument is an address of the host");
  }
  GraphStream::of(stream).launch(std::move(work), name);
}

std::unique_ptr<Device> make_cuda_device(int /*local_rank*/, bool graphs) {
  if (!graphs) return std::make_unique<EagerDevice>();
  return std::make_unique<GraphDevice>();
}

}  // namespace lockstep::cuda
