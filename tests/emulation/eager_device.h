#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "emulation/graph_device.h"

namespace lockstep {

/// The emulated GPU without graphs: describes a recording in each run, and executes launched work when the
/// host waits for it.
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
  std::unique_ptr<Program> record(std::function<void()> describe) override {
    return std::make_unique<EagerProgram>(stream_, std::move(describe));
  }

 private:
  /// Both streams launch on the single stream of the GPU, in the order of enqueueing, which satisfies all
  /// events.
  struct EagerStream final : cuda::CudaStream {
    explicit EagerStream(GraphDevice& device) : gpu(device) {}
    cuda::StreamHandle handle() const override { return gpu.stream.handle(); }
    void call(std::function<void()> work, Phase /*phase*/) override {
      end_part();
      gpu.copy(nullptr, nullptr, 0);  // waits
      work();
      begin_part();
    }
    Event record() override { return {0}; }
    void wait(Event /*event*/) override {}
    void begin_part() const {
      if (KernelTimes* const times = KernelTimes::of_thread()) times->begin_part(handle());
    }
    static void end_part() {
      if (KernelTimes* const times = KernelTimes::of_thread()) times->end_part();
    }
    GraphDevice& gpu;
  };
  struct EagerProgram final : Program {
    EagerProgram(EagerStream& on, std::function<void()> all) : stream(on), describe(std::move(all)) {}
    void run() override {
      stream.begin_part();
      describe();
      if (KernelTimes* const times = KernelTimes::of_thread()) times->end_program();
    }
    EagerStream& stream;
    std::function<void()> describe;
  };

  GraphDevice gpu_;
  EagerStream stream_{gpu_};
  EagerStream communication_{gpu_};
  std::array<Stream*, 1> streams_{&stream_};
};

}  // namespace lockstep
