// A CUDA device whose memory and processor are the host's: kernels are loops (launch_on_host.h). Recording
// and running keep the order and the rules of the real one.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

class EmulatedStream final : public CudaStream {
 public:
  StreamHandle handle() const override { return nullptr; }
  void enqueue(std::function<void()> work) override {
    if (!recording) throw Error(Category::internal, "work was given to a stream outside of a recording");
    recorded.push_back(std::move(work));
  }
  void host(std::function<void()> code) override { code(); }
  Event record() override { return {0}; }
  void wait(Event /*event*/) override {}

  bool recording = false;
  std::vector<std::function<void()>> recorded;
};

class EmulatedProgram final : public Program {
 public:
  explicit EmulatedProgram(std::vector<std::function<void()>> work) : work_(std::move(work)) {}
  void run() override {
    for (const auto& work : work_) work();
  }

 private:
  std::vector<std::function<void()>> work_;
};

class EmulatedDevice final : public Device {
 public:
  Buffer allocate(std::size_t bytes) override {
    if (bytes == 0) return {};
    void* data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (data == nullptr) throw Error(Category::resource, "not enough memory");
    std::fill_n(static_cast<std::byte*>(data), bytes, std::byte{0});
    return {data, bytes, [](void* address) { std::free(address); }};
  }
  Buffer allocate_host(std::size_t bytes) override { return allocate(bytes); }
  Buffer mirror(const Buffer& buffer) override { return allocate(buffer.bytes()); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    std::copy_n(static_cast<const std::byte*>(from), bytes, static_cast<std::byte*>(to));
  }
  void copy(Stream& /*stream*/, void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
  }
  std::span<Stream* const> streams() override { return streams_; }
  std::unique_ptr<Program> record(const std::function<void()>& work) override {
    stream_.recording = true;
    stream_.recorded.clear();
    try {
      work();
    } catch (...) {
      stream_.recording = false;
      throw;
    }
    stream_.recording = false;
    return std::make_unique<EmulatedProgram>(std::move(stream_.recorded));
  }

 private:
  EmulatedStream stream_;
  std::array<Stream*, 1> streams_{&stream_};
};

}  // namespace

StreamHandle handle_of(const Stream& stream) { return static_cast<const CudaStream&>(stream).handle(); }

std::unique_ptr<Device> make_cuda_device(const CudaOptions& /*options*/) {
  return std::make_unique<EmulatedDevice>();
}

}  // namespace lockstep::cuda
