#include "train/cuda/cuda_leaf_runner.h"

#include "device/cuda/cuda_device.h"
#include "train/cuda/host_feed.h"
#include "train/cuda/kernels/predictions.h"

namespace lockstep::cuda {
namespace {

/// Sizes of micro-batches are known before the first one runs: full ones, and the last of the data set.
CudaPlan& compiled_for(CudaPlan& plan, const Loader& loader) {
  const auto rest = static_cast<int>(loader.dataset().size() % loader.micro_batch());
  if (rest > 0) plan.compile_for(rest);
  return plan;
}

class CudaLeafRunner final : public LeafRunner {
 public:
  CudaLeafRunner(Device& device, Stream& stream, CudaPlan& plan, const Loader& loader)
      : stream_(stream),
        plan_(compiled_for(plan, loader)),
        loader_(loader),
        feed_(device, plan, loader),
        workspace_(device.allocate(plan.workspace_bytes())) {}

  void prepare(const float* parameters) override { plan_.prepare(handle(), parameters, workspace_.data()); }

  void run(std::uint32_t leaf, const float* parameters, float* gradients, LeafResult* result,
           Prediction* predictions) override {
    const int samples = static_cast<int>(loader_.samples(leaf));
    const CudaPlan::Inputs inputs = plan_.inputs(workspace_.data());
    feed_.load(stream_, leaf, inputs);
    plan_.forward(handle(), samples, parameters, result, workspace_.data());
    if (gradients != nullptr) plan_.backward(handle(), samples, parameters, gradients, workspace_.data());
    if (predictions != nullptr) {
      write_predictions(handle(), samples, inputs.labels, plan_.predictions(workspace_.data()), predictions);
    }
  }

  VisitSum visits() override { return feed_.visits(); }

 private:
  StreamHandle handle() const { return handle_of(stream_); }

  Stream& stream_;
  CudaPlan& plan_;
  const Loader& loader_;
  HostFeed feed_;
  Buffer workspace_;
};

}  // namespace

std::unique_ptr<LeafRunner> make_cuda_leaf_runner(Device& device, Stream& stream, CudaPlan& plan,
                                                  const Loader& loader, StepLog /*log*/) {
  return std::make_unique<CudaLeafRunner>(device, stream, plan, loader);
}

}  // namespace lockstep::cuda
