#include "train/leaf_runner.h"

namespace lockstep {

LeafRunner::LeafRunner(Device& device, const Plan& plan, const Loader& loader)
    : plan_(plan),
      loader_(loader),
      workspace_(device.allocate(plan.workspace_bytes())),
      images_(loader.micro_batch()),
      labels_(loader.micro_batch()),
      ids_(loader.micro_batch()) {}

LeafResult LeafRunner::run(std::uint32_t leaf, const float* parameters, float* gradients) {
  auto start = std::chrono::steady_clock::now();
  const std::uint32_t samples = loader_.samples(leaf);
  for (std::uint32_t i = 0; i < samples; ++i) {
    const std::uint64_t id = ids_[i] = loader_.id(leaf, i);
    images_[i] = loader_.dataset().image(id).data();
    labels_[i] = loader_.dataset().label(id);
    visits.add(id);
  }
  plan_.load({.images = {images_.data(), samples},
              .labels = {labels_.data(), samples},
              .ids = {ids_.data(), samples},
              .random = {loader_.seed(), loader_.epoch()}},
             workspace_.data());
  seconds.load += lap(start);
  const LeafResult result = plan_.forward(static_cast<int>(samples), parameters, workspace_.data());
  seconds.forward += lap(start);
  if (gradients != nullptr) {
    plan_.backward(static_cast<int>(samples), parameters, gradients, workspace_.data());
    seconds.backward += lap(start);
  }
  return result;
}

}  // namespace lockstep
