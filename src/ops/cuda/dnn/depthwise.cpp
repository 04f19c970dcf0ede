#include "ops/cuda/dnn/depthwise.h"

#include <functional>
#include <utility>

#include "ops/cuda/kernels/depthwise.h"

namespace lockstep::cuda {
namespace {

class DepthwiseOperation final : public DnnOperation {
 public:
  using Run = std::function<void(StreamHandle stream, std::span<void* const> tensors, void* workspace)>;
  DepthwiseOperation(std::size_t workspace_bytes, Run run)
      : workspace_bytes_(workspace_bytes), run_(std::move(run)) {}

  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  void run(StreamHandle stream, std::span<void* const> tensors, void* workspace) const override {
    run_(stream, tensors, workspace);
  }
  std::string description() const override { return "depthwise kernel"; }

 private:
  std::size_t workspace_bytes_;
  Run run_;
};

class DepthwiseConvolutions final : public Dnn {
 public:
  std::unique_ptr<DnnOperation> conv_forward(const ConvProblem& problem, bool bias, bool relu) override {
    return std::make_unique<DepthwiseOperation>(
        depthwise_forward_workspace(problem),
        [problem, bias, relu](StreamHandle stream, std::span<void* const> tensors, void* workspace) {
          depthwise_forward(stream, problem, tensors[0], tensors[1], bias ? tensors[2] : nullptr, relu,
                            tensors.back(), workspace);
        });
  }
  std::unique_ptr<DnnOperation> conv_backward_data(const ConvProblem& problem) override {
    return std::make_unique<DepthwiseOperation>(
        depthwise_backward_data_workspace(problem),
        [problem](StreamHandle stream, std::span<void* const> tensors, void* workspace) {
          depthwise_backward_data(stream, problem, tensors[0], tensors[1], tensors[2], workspace);
        });
  }
  std::unique_ptr<DnnOperation> conv_backward_weights(const ConvProblem& problem) override {
    return std::make_unique<DepthwiseOperation>(
        depthwise_backward_weights_workspace(problem),
        [problem](StreamHandle stream, std::span<void* const> tensors, void* workspace) {
          depthwise_backward_weights(stream, problem, tensors[0], tensors[1], tensors[2], workspace);
        });
  }
};

}  // namespace

Dnn& depthwise_convolutions() {
  static DepthwiseConvolutions convolutions;
  return convolutions;
}

}  // namespace lockstep::cuda
