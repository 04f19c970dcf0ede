#include "lockstep/replica.h"

#include <fmt/format.h>

#include "device/cpu/cpu_device.h"
#include "lockstep/error.h"
#include "ops/cpu/cpu_plan.h"
#include "train/parameter_set.h"

namespace lockstep {

class Replica::Implementation {
 public:
  Implementation(const Network& network, const Dataset& dataset, int micro_batch)
      : network_(network),
        dataset_(dataset),
        layout_(layout_arena(network.parameters())),
        device_(make_cpu_device({.threads = 1, .pin = false})),
        plan_(cpu::make_plan(build_graph(network), layout_,
                             {.samples = micro_batch, .images = dataset.shape()}, cpu::best_level())),
        workspace_(device_->allocate(plan_->workspace_bytes())),
        images_(static_cast<std::size_t>(micro_batch)),
        labels_(static_cast<std::size_t>(micro_batch)) {}

  Result forward_backward(std::span<const std::uint64_t> ids, std::span<const float> parameters,
                          std::span<float> gradient) {
    if (ids.empty() || ids.size() > images_.size()) {
      throw Error(Category::usage,
                  fmt::format("a micro-batch of {} samples was given to a replica for up to {}", ids.size(),
                              images_.size()));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      images_[i] = dataset_.image(ids[i]).data();
      labels_[i] = dataset_.label(ids[i]);
    }
    const int samples = static_cast<int>(ids.size());
    plan_->load({{images_.data(), ids.size()}, {labels_.data(), ids.size()}}, workspace_.data());
    const LeafResult result = plan_->forward(samples, parameters.data(), workspace_.data());
    plan_->backward(samples, parameters.data(), gradient.data(), workspace_.data());
    return {result.loss, result.correct};
  }

  const Network& network_;
  const Dataset& dataset_;
  ArenaLayout layout_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Plan> plan_;
  Buffer workspace_;
  std::vector<const std::uint8_t*> images_;
  std::vector<std::int32_t> labels_;
};

Replica::Replica(const Network& network, const Dataset& dataset, int micro_batch)
    : implementation_(std::make_unique<Implementation>(network, dataset, micro_batch)) {}
Replica::~Replica() = default;

std::size_t Replica::elements() const { return implementation_->layout_.elements; }

void Replica::initialize(std::uint64_t seed, std::span<float> parameters) const {
  initialize_parameters(implementation_->network_.parameters(), implementation_->layout_, seed,
                        parameters.data());
}

Replica::Result Replica::forward_backward(std::span<const std::uint64_t> ids,
                                          std::span<const float> parameters, std::span<float> gradient) {
  return implementation_->forward_backward(ids, parameters, gradient);
}

std::string Replica::digest(std::span<float> parameters) const {
  return ParameterSet(implementation_->network_.parameters(), implementation_->layout_, parameters).digest();
}

}  // namespace lockstep
