#include "train/cuda/cuda_leaf_runner.h"

#include <fmt/format.h>

#include <utility>

#include "device/cuda/cuda_device.h"
#include "lockstep/error.h"
#include "train/cuda/kernels/predictions.h"

namespace lockstep::cuda {
namespace {

/// Allocates the workspace. If it does not fit, the error says how many samples would fit, as memory is
/// proportional to their number.
Buffer allocate_workspace(Device& device, const CudaPlan& plan, std::uint32_t samples) {
  const std::size_t wanted = plan.workspace_bytes(), available = device.available_bytes();
  if (wanted <= available) return device.allocate(wanted);
  throw Error(
      Category::resource,
      fmt::format("not enough GPU memory: micro-batches of {} samples take {} MB, {} MB are free; up to "
                  "{} samples fit: use more micro-batches",
                  samples, wanted >> 20, available >> 20,
                  static_cast<std::uint64_t>(static_cast<double>(samples) * static_cast<double>(available) /
                                             static_cast<double>(wanted))));
}

class CudaLeafRunner final : public LeafRunner {
 public:
  CudaLeafRunner(Device& device, CudaPlan plan, const Loader& loader, std::unique_ptr<Feed> feed)
      : plan_(std::move(plan)),
        feed_(std::move(feed)),
        workspace_(allocate_workspace(device, plan_, loader.micro_batch())) {}

  void prepare(Stream& stream, const float* parameters) override {
    plan_.prepare(handle_of(stream), parameters, workspace_.data());
  }
  void load(Stream& stream, std::uint32_t leaf) override {
    batch_ = feed_->load(stream, leaf, plan_.images(workspace_.data()));
  }
  void forward(Stream& stream, NodeRange range, const float* parameters, LeafResult* result) override {
    plan_.forward(handle_of(stream), batch_, range, parameters, result, workspace_.data());
  }
  void predict(Stream& stream, Prediction* predictions) override {
    write_predictions(handle_of(stream), static_cast<int>(batch_.size), batch_.labels,
                      plan_.predictions(workspace_.data()), predictions);
  }
  void write_outputs(Stream& stream, float* outputs) override {
    cuda::write_outputs(handle_of(stream), plan_.type(), static_cast<int>(batch_.size), plan_.outputs_size(),
                        plan_.outputs(workspace_.data()), outputs);
  }
  void backward(Stream& stream, NodeRange range, const float* parameters, float* gradients) override {
    plan_.backward(handle_of(stream), batch_, range, parameters, gradients, workspace_.data());
  }

  NodeRange nodes() const override { return plan_.all(); }
  std::vector<GradientPart> parts() const override { return plan_.parts(); }
  void expect(std::span<const SampleRange> coming) override { feed_->expect(coming); }
  VisitSum visits() override { return feed_->visits(); }
  VisitSum contents() const override { return feed_->contents(); }
  double waited() const override { return feed_->waited(); }

 private:
  const CudaPlan plan_;
  std::unique_ptr<Feed> feed_;
  Buffer workspace_;
  MicroBatch batch_;  ///< last leaf loaded
};

}  // namespace

std::unique_ptr<LeafRunner> make_cuda_leaf_runner(Device& device, CudaPlan plan, const Loader& loader,
                                                  std::unique_ptr<Feed> feed) {
  return std::make_unique<CudaLeafRunner>(device, std::move(plan), loader, std::move(feed));
}

}  // namespace lockstep::cuda
