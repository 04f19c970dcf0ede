#include "gradient/cuda/summation.h"

#include "device/cuda/cuda_device.h"
#include "gradient/cuda/fold.h"

namespace lockstep::cuda {
namespace {

class CudaSummation final : public Summation {
 public:
  explicit CudaSummation(Device& device) : device_(device) {}

  void add(Stream& stream, float* into, const float* from, std::size_t count) const override {
    cuda::add(handle_of(stream), into, from, count);
  }
  void fill(Stream& stream, float* values, float value, std::size_t count) const override {
    cuda::fill(handle_of(stream), values, value, count);
  }
  void fold(Stream& stream, const Fold& program, const SumChunk& chunk, float* into) override {
    if (program.program.size() == 1 && chunk.inputs[static_cast<std::size_t>(program.program[0])] == into) {
      return;
    }
    cuda::fold(handle_of(stream), program.program, chunk.inputs, chunk.size(), into);
  }
  Buffer allocate(std::size_t elements) const override { return device_.allocate(elements * sizeof(float)); }

 private:
  Device& device_;
};

}  // namespace

std::unique_ptr<Summation> make_summation(Device& device) { return std::make_unique<CudaSummation>(device); }

}  // namespace lockstep::cuda
