#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "emulation/graph_device.h"

namespace lockstep {

/// The same GPU without graphs: recorded work is called in each run, and what it launches is done later, when
/// the host waits for it.
class EagerDevice final : public cuda::CudaDevice {
 public:
  Buffer allocate(std::size_t bytes) override { return gpu_.allocate(bytes); }
  std::size_t available_bytes() const override { return gpu_.available_bytes(); }
  Buffer allocate_host(std::size_t bytes) override { return gpu_.allocate_host(bytes); }
  Buffer mirror(const Buffer& buffer) override { return gpu_.mirror(buffer); }
  void copy(void* to, const void* from, std::size_t bytes) override { gpu_.copy(to, from, bytes); }
  void copy(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    gpu_.copy(stream, to, from, bytes);
  }
  std::span<Stream* const> streams() override { return streams_; }
  cuda::CudaStream& communication_stream() override { return communication_; }
  void while_waiting(std::function<void()> look) override { gpu_.while_waiting(std::move(look)); }
  std::unique_ptr<Program> record(const std::function<void()>& work) override {
    stream_.recorded.clear();
    work();
    return std::make_unique<EagerProgram>(std::exchange(stream_.recorded, {}));
  }

 private:
  using Work = std::vector<std::function<void()>>;
  struct EagerStream : cuda::CudaStream {
    explicit EagerStream(GraphDevice& device) : gpu(device) {}
    cuda::StreamHandle handle() const override { return gpu.stream.handle(); }
    void enqueue(std::function<void()> work) override { recorded.push_back(std::move(work)); }
    void host(std::function<void()> code) override {
      gpu.copy(nullptr, nullptr, 0);  // waits
      code();
    }
    Event record() override { return {0}; }
    void wait(Event /*event*/) override {}
    GraphDevice& gpu;
    Work recorded;
  };
  /// Both streams launch on the GPU's one, in the order in which they were given work: events allow that.
  struct CommunicationStream final : EagerStream {
    using EagerStream::EagerStream;
    void enqueue(std::function<void()> work) override { work(); }
  };
  struct EagerProgram final : Program {
    explicit EagerProgram(Work all) : work(std::move(all)) {}
    void run() override {
      for (const auto& each : work) each();
    }
    Work work;
  };

  GraphDevice gpu_;
  EagerStream stream_{gpu_};
  CommunicationStream communication_{gpu_};
  std::array<Stream*, 1> streams_{&stream_};
};

}  // namespace lockstep
