#include "train/cuda/cuda_leaf_runner.h"

#include <fmt/format.h>

#include "device/cuda/cuda_device.h"
#include "lockstep/error.h"
#include "train/cuda/kernels/predictions.h"

namespace lockstep::cuda {
namespace {

/// Says how many samples would fit when these do not: memory grows with their number.
Buffer allocate_workspace(Device& device, const CudaPlan& plan, std::uint32_t samples) {
  const std::size_t wanted = plan.workspace_bytes(), available = device.available_bytes();
  if (wanted <= available) return device.allocate(wanted);
  throw Error(
      Category::resource,
      fmt::format(
          "not enough memory of the GPU: micro-batches of {} samples take {} MB, {} MB are free; up to "
          "{} samples fit: use a larger --micro-batches",
          samples, wanted >> 20, available >> 20,
          static_cast<std::uint64_t>(static_cast<double>(samples) * static_cast<double>(available) /
                                     static_cast<double>(wanted))));
}

class CudaLeafRunner final : public LeafRunner {
 public:
  CudaLeafRunner(Device& device, Stream& stream, const CudaPlan& plan, const Loader& loader,
                 std::unique_ptr<Feed> feed)
      : stream_(stream),
        plan_(plan),
        loader_(loader),
        feed_(std::move(feed)),
        workspace_(allocate_workspace(device, plan, loader.micro_batch())) {}

  void prepare(const float* parameters) override { plan_.prepare(handle(), parameters, workspace_.data()); }

  void run(std::uint32_t leaf, const float* parameters, const LeafOutputs& outputs) override {
    const int samples = samples_ = static_cast<int>(loader_.samples(leaf));
    const CudaPlan::Inputs inputs = plan_.inputs(workspace_.data());
    feed_->load(leaf, inputs, seconds.load);
    plan_.forward(handle(), samples, parameters, outputs.result, workspace_.data());
    if (outputs.gradients != nullptr) {
      plan_.backward(handle(), samples, parameters, outputs.gradients, workspace_.data(), outputs.ready);
    }
    if (outputs.predictions != nullptr) {
      write_predictions(handle(), samples, inputs.labels, plan_.predictions(workspace_.data()),
                        outputs.predictions);
    }
  }

  void forward_node(std::size_t node, const float* parameters) override {
    plan_.forward_node(handle(), node, samples_, parameters, workspace_.data());
  }
  void loss(LeafResult* result) override { plan_.loss(handle(), samples_, result, workspace_.data()); }
  void backward_node(std::size_t node, const float* parameters, float* gradients) override {
    plan_.backward_node(handle(), node, samples_, parameters, gradients, workspace_.data());
  }

  void expect(std::span<const SampleRange> coming) override { feed_->expect(coming); }
  VisitSum visits() override { return feed_->visits(); }

 private:
  StreamHandle handle() const { return handle_of(stream_); }

  Stream& stream_;
  const CudaPlan& plan_;
  const Loader& loader_;
  std::unique_ptr<Feed> feed_;
  Buffer workspace_;
  int samples_ = 0;  ///< of the last run
};

}  // namespace

std::unique_ptr<LeafRunner> make_cuda_leaf_runner(Device& device, Stream& stream, const CudaPlan& plan,
                                                  const Loader& loader, std::unique_ptr<Feed> feed) {
  return std::make_unique<CudaLeafRunner>(device, stream, plan, loader, std::move(feed));
}

}  // namespace lockstep::cuda
