#include "train/cuda/cuda_leaf_runner.h"

#include "device/cuda/cuda_device.h"
#include "train/cuda/kernels/predictions.h"

namespace lockstep::cuda {
namespace {

class CudaLeafRunner final : public LeafRunner {
 public:
  CudaLeafRunner(Device& device, Stream& stream, const CudaPlan& plan, const Loader& loader,
                 std::unique_ptr<Feed> feed)
      : stream_(stream),
        plan_(plan),
        loader_(loader),
        feed_(std::move(feed)),
        workspace_(device.allocate(plan.workspace_bytes())) {}

  void prepare(const float* parameters) override { plan_.prepare(handle(), parameters, workspace_.data()); }

  void run(std::uint32_t leaf, const float* parameters, float* gradients, LeafResult* result,
           Prediction* predictions) override {
    const int samples = static_cast<int>(loader_.samples(leaf));
    const CudaPlan::Inputs inputs = plan_.inputs(workspace_.data());
    feed_->load(leaf, inputs);
    plan_.forward(handle(), samples, parameters, result, workspace_.data());
    if (gradients != nullptr) plan_.backward(handle(), samples, parameters, gradients, workspace_.data());
    if (predictions != nullptr) {
      write_predictions(handle(), samples, inputs.labels, plan_.predictions(workspace_.data()), predictions);
    }
  }

  VisitSum visits() override { return feed_->visits(); }

 private:
  StreamHandle handle() const { return handle_of(stream_); }

  Stream& stream_;
  const CudaPlan& plan_;
  const Loader& loader_;
  std::unique_ptr<Feed> feed_;
  Buffer workspace_;
};

}  // namespace

std::unique_ptr<LeafRunner> make_cuda_leaf_runner(Device& device, Stream& stream, const CudaPlan& plan,
                                                  const Loader& loader, std::unique_ptr<Feed> feed) {
  return std::make_unique<CudaLeafRunner>(device, stream, plan, loader, std::move(feed));
}

}  // namespace lockstep::cuda
