#include <chrono>
#include <future>
#include <optional>
#include <vector>

#include "device/cuda/native/check.h"
#include "device/cuda/native/streams.h"
#include "device/kernel_times.h"

namespace lockstep::cuda {
namespace {

/// Longer than the host takes to submit a step. The wait must time out: with very many launches pending, or
/// when memory is freed, CUDA blocks the host until the stream advances.
constexpr auto longest_hold = std::chrono::milliseconds(100);

/// Called by a CUDA thread, in stream order.
void wait_for_release(void* data) {
  const std::unique_ptr<std::future<void>> released(static_cast<std::future<void>*>(data));
  released->wait_for(longest_hold);
}

/// Clock whose points are CUDA events.
class EventClock final : public StreamClock {
 public:
  void mark(cudaStream_t stream, std::size_t point) override {
    while (events_.size() <= point) events_.push_back(make_timed_event());
    check_cuda(cudaEventRecord(events_[point].get(), stream), "cudaEventRecord");
  }
  double seconds(std::size_t from, std::size_t to) const override {
    float milliseconds = 0.0F;
    check_cuda(cudaEventElapsedTime(&milliseconds, events_[from].get(), events_[to].get()),
               "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  void hold(cudaStream_t stream) override {
    auto released = std::make_unique<std::future<void>>(hold_.emplace().get_future());
    check_cuda(cudaLaunchHostFunc(stream, wait_for_release, released.get()), "cudaLaunchHostFunc");
    static_cast<void>(released.release());  // wait_for_release owns it
  }
  /// Destroying the promise ends the wait.
  void release() override { hold_.reset(); }

 private:
  std::vector<EventOwner> events_;
  std::optional<std::promise<void>> hold_;
};

}  // namespace
}  // namespace lockstep::cuda

namespace lockstep {

std::unique_ptr<StreamClock> make_stream_clock() { return std::make_unique<cuda::EventClock>(); }

}  // namespace lockstep
