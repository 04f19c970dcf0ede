#include "reduce/cuda/summation.h"

#include "device/cuda/cuda_device.h"
#include "reduce/cuda/fold.h"

namespace lockstep::cuda {
namespace {

class CudaFolder final : public Folder {
 public:
  CudaFolder(Device& device, Fold fold, std::size_t elements)
      : device_(device), program_(std::move(fold.program)), elements_(elements) {}

  std::size_t block() const override { return elements_; }

  const float* sum(std::span<const float* const> inputs, std::size_t begin, std::size_t count) override {
    if (program_.size() == 1) return inputs[static_cast<std::size_t>(program_[0])] + begin;
    if (sums_.bytes() == 0) sums_ = device_.allocate(elements_ * sizeof(float));
    sum_into(inputs, begin, count, sums_.floats().data());
    return sums_.floats().data();
  }
  void sum_into(std::span<const float* const> inputs, std::size_t begin, std::size_t count,
                float* into) override {
    if (program_.size() == 1 && inputs[static_cast<std::size_t>(program_[0])] + begin == into) return;
    fold(handle_of(*device_.streams()[0]), program_, inputs, begin, count, into);
  }

 private:
  Device& device_;
  std::vector<std::int32_t> program_;
  std::size_t elements_;
  Buffer sums_;
};

class CudaSummation final : public Summation {
 public:
  explicit CudaSummation(Device& device) : device_(device) {}

  void add(float* into, const float* from, std::size_t count) const override {
    cuda::add(handle_of(*device_.streams()[0]), into, from, count);
  }
  void fill(float* values, float value, std::size_t count) const override {
    cuda::fill(handle_of(*device_.streams()[0]), values, value, count);
  }
  Buffer allocate(std::size_t elements) const override { return device_.allocate(elements * sizeof(float)); }
  std::unique_ptr<Folder> make_folder(Fold fold, std::size_t elements) const override {
    return std::make_unique<CudaFolder>(device_, std::move(fold), elements);
  }

 private:
  Device& device_;
};

}  // namespace

std::unique_ptr<Summation> make_summation(Device& device) { return std::make_unique<CudaSummation>(device); }

}  // namespace lockstep::cuda
