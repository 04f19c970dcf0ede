#include "device/cuda/native/upload.h"

#include <cuda_runtime_api.h>

#include <array>
#include <utility>

#include "device/cuda/native/check.h"
#include "device/kernel_times.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

class UploadBesideWork final : public Upload {
 public:
  UploadBesideWork(RecordingStream& stream, Buffer memory) : Upload(std::move(memory)), stream_(stream) {
    check_cuda(cudaEventRecord(released_.get(), copies_.get()), "cudaEventRecord");
  }
  ~UploadBesideWork() override { cudaStreamSynchronize(copies_.get()); }

  void fill(Stream& stream, Source source) override {
    expect_own(stream);
    stream_.call_at_submission([this, source = std::move(source)] { copy(source); });
  }
  void release(Stream& stream) override {
    expect_own(stream);
    stream_.call_at_submission(
        [this] { check_cuda(cudaEventRecord(released_.get(), stream_.handle()), "cudaEventRecord"); });
  }
  void wait() override { stream_.synchronize(copies_.get()); }

  double waited() const override {
    double seconds = waited_;
    for (const Wait& each : waits_) seconds += each.seconds();
    return seconds;
  }

 private:
  /// One wait of the stream for a copy.
  struct Wait {
    EventOwner begin = make_timed_event(), end = make_timed_event();
    bool submitted = false;

    /// Duration of the wait; 0 while it is not over.
    double seconds() const {
      if (!submitted) return 0.0;
      const cudaError_t code = cudaEventQuery(end.get());
      if (code == cudaErrorNotReady) {
        cudaGetLastError();  // clears cudaErrorNotReady, which some runtimes return again later
        return 0.0;
      }
      check_cuda(code, "cudaEventQuery");
      float milliseconds = 0.0F;
      check_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
      return 1e-3 * static_cast<double>(milliseconds);
    }
  };

  void expect_own(const Stream& stream) const {
    if (&stream != &stream_) throw Error(Category::internal, "an upload was given to another stream");
  }

  /// Submits the next copy once the last one is done. That last copy ran after the release that preceded it,
  /// so the wait before that release is over, too, and its events can be reused.
  void copy(const Source& source) {
    stream_.synchronize(copies_.get());
    Wait& wait = waits_[fills_++ % waits_.size()];
    waited_ += wait.seconds();
    wait.submitted = false;
    check_cuda(cudaEventRecord(wait.begin.get(), stream_.handle()), "cudaEventRecord");
    const std::span<const std::byte> bytes = source();
    check_cuda(cudaStreamWaitEvent(copies_.get(), released_.get(), cudaEventWaitDefault),
               "cudaStreamWaitEvent");
    timed_launch(copies_.get(), "upload", [&] {
      check_cuda(cudaMemcpyAsync(data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, copies_.get()),
                 "cudaMemcpyAsync");
    });
    check_cuda(cudaEventRecord(copied_.get(), copies_.get()), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(stream_.handle(), copied_.get(), cudaEventWaitDefault),
               "cudaStreamWaitEvent");
    check_cuda(cudaEventRecord(wait.end.get(), stream_.handle()), "cudaEventRecord");
    wait.submitted = true;
  }

  RecordingStream& stream_;
  StreamOwner copies_ = make_stream();
  EventOwner copied_ = make_event(), released_ = make_event();
  std::array<Wait, 2> waits_;
  std::uint64_t fills_ = 0;
  double waited_ = 0.0;
};

}  // namespace

std::unique_ptr<Upload> make_upload(RecordingStream& stream, Buffer memory) {
  return std::make_unique<UploadBesideWork>(stream, std::move(memory));
}

}  // namespace lockstep::cuda
