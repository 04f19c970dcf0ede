#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

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

/// EMULATED_FAILURE="RANK CALL NUMBER" lets a call fail on a rank: "1 copy 3".
std::unique_ptr<Device> make_cuda_device(int local_rank, bool graphs) {
  if (!graphs) return std::make_unique<EagerDevice>();
  auto device = std::make_unique<GraphDevice>();
  if (const char* failure = std::getenv("EMULATED_FAILURE"); failure != nullptr) {
    int rank = 0, number = 0;
    std::string call;
    std::istringstream(failure) >> rank >> call >> number;
    if (rank == local_rank) {
      (call == "copy" ? device->copies_until_failure : device->allocations_until_failure) = number;
    }
  }
  return device;
}

}  // namespace lockstep::cuda

namespace lockstep {
namespace {

/// The host's clock. Its points are work of the stream.
class HostClock final : public StreamClock {
 public:
  void mark(cuda::StreamHandle stream, std::size_t point) override {
    if (points_->size() <= point) points_->resize(point + 1);
    GraphStream::of(stream).launch([points = points_, point] { (*points)[point] = Clock::now(); });
  }
  double seconds(std::size_t from, std::size_t to) const override {
    return std::chrono::duration<double>((*points_)[to] - (*points_)[from]).count();
  }
  void hold(cuda::StreamHandle /*stream*/) override {}  // work runs when the host waits for it
  void release() override {}

 private:
  using Clock = std::chrono::steady_clock;
  std::shared_ptr<std::vector<Clock::time_point>> points_ =
      std::make_shared<std::vector<Clock::time_point>>();
};

}  // namespace

std::unique_ptr<StreamClock> make_stream_clock() { return std::make_unique<HostClock>(); }

}  // namespace lockstep
