#include "reduce/cuda/cuda_summation.h"

#include <algorithm>
#include <map>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/table.h"
#include "reduce/cuda/fold.h"

namespace lockstep::cuda {
namespace {

class CudaFolder final : public Folder {
 public:
  CudaFolder(Device& device, const Stream& stream, const Fold& fold, std::size_t elements)
      : device_(device), stream_(stream), fold_(device, fold), elements_(std::max<std::size_t>(elements, 1)) {}

  std::size_t block() const override { return elements_; }

  const float* sum(std::span<const float* const> inputs, std::size_t begin, std::size_t count) override {
    if (fold_.fold().length == 1) return inputs[0] + begin;
    if (sums_.bytes() == 0) sums_ = device_.allocate(elements_ * sizeof(float));
    sum_into(inputs, begin, count, sums_.floats().data());
    return sums_.floats().data();
  }

  void sum_into(std::span<const float* const> inputs, std::size_t begin, std::size_t count,
                float* into) override {
    fold(handle_of(stream_), fold_.fold(), addresses(inputs), begin, count, into);
  }

 private:
  /// On the device; those of a step are the same in each step.
  const float* const* addresses(std::span<const float* const> inputs) {
    const std::vector<const float*> key(inputs.begin(), inputs.end());
    const auto found = addresses_.find(key);
    if (found != addresses_.end()) return found->second.data();
    return addresses_.emplace(key, Table<const float*>(device_, inputs)).first->second.data();
  }

  Device& device_;
  const Stream& stream_;
  FoldTable fold_;
  std::size_t elements_;
  Buffer sums_;
  std::map<std::vector<const float*>, Table<const float*>> addresses_;
};

class CudaSummation final : public Summation {
 public:
  CudaSummation(Device& device, const Stream& stream) : device_(device), stream_(stream) {}

  void add(float* into, const float* from, std::size_t count) const override {
    cuda::add(handle_of(stream_), into, from, count);
  }
  void fill(float* values, float value, std::size_t count) const override {
    cuda::fill(handle_of(stream_), values, value, count);
  }
  Buffer allocate(std::size_t elements) const override {
    return device_.allocate(elements * sizeof(float));
  }
  std::unique_ptr<Folder> make_folder(Fold fold, std::size_t elements) const override {
    return std::make_unique<CudaFolder>(device_, stream_, fold, elements);
  }

 private:
  Device& device_;
  const Stream& stream_;
};

}  // namespace

std::unique_ptr<Summation> make_cuda_summation(Device& device, const Stream& stream) {
  return std::make_unique<CudaSummation>(device, stream);
}

}  // namespace lockstep::cuda
