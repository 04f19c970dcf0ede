#pragma once

#include <array>
#include <memory>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"

namespace lockstep {

/// An emulated GPU for tests of single kernels: describes a recording in each run, executes launched work
/// immediately, and lets the host access its memory.
class OpenDevice final : public Device {
 public:
  Buffer allocate(std::size_t bytes) override { return cpu_->allocate(bytes); }
  Buffer allocate_host(std::size_t bytes) override { return cpu_->allocate(bytes); }
  std::size_t available_bytes() const override { return cpu_->available_bytes(); }
  Buffer mirror(const Buffer& buffer) override { return allocate(buffer.bytes()); }
  void copy(void* to, const void* from, std::size_t bytes) override { cpu_->copy(to, from, bytes); }
  void copy(Stream& /*stream*/, void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
  }
  std::span<Stream* const> streams() override { return streams_; }
  std::unique_ptr<Program> record(std::function<void()> describe) override {
    return std::make_unique<Described>(std::move(describe));
  }

 private:
  struct OpenStream final : cuda::CudaStream {
    cuda::StreamHandle handle() const override { return nullptr; }
    void call(std::function<void()> work, Phase /*phase*/) override { work(); }
    Event record() override { return {0}; }
    void wait(Event /*event*/) override {}
  };
  struct Described final : Program {
    explicit Described(std::function<void()> all) : describe(std::move(all)) {}
    void run() override { describe(); }
    std::function<void()> describe;
  };

  std::unique_ptr<Device> cpu_ = make_cpu_device({.threads = 1, .pin = false});
  OpenStream stream_;
  std::array<Stream*, 1> streams_{&stream_};
};

}  // namespace lockstep
