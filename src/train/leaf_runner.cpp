#include "train/leaf_runner.h"

namespace lockstep {

LeafRunner::LeafRunner(Device& device, const Plan& plan, const Loader& loader)
    : plan_(plan),
      loader_(loader),
      workspace_(device.allocate(plan.workspace_bytes())),
      reader_(loader.dataset(), loader.transform(), loader.bad_samples(), loader.micro_batch()),
      ids_(loader.micro_batch()) {}

LeafResult LeafRunner::run(std::uint32_t leaf, const float* parameters, float* gradients) {
  auto start = std::chrono::steady_clock::now();
  const auto ids = std::span(ids_).first(loader_.samples(leaf));
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    ids[i] = loader_.id(leaf, i);
    visits.add(ids[i]);
  }
  batch_ = reader_.read(ids, {.epoch = loader_.epoch(), .number = loader_.number(leaf)});
  const int samples = static_cast<int>(batch_.samples());
  plan_.load(batch_, workspace_.data());
  seconds.load += lap(start);
  const LeafResult result = plan_.forward(samples, parameters, workspace_.data());
  seconds.forward += lap(start);
  if (gradients != nullptr) {
    plan_.backward(samples, parameters, gradients, workspace_.data());
    seconds.backward += lap(start);
  }
  return result;
}

void LeafRunner::count_predictions(std::span<std::uint64_t> counts, std::size_t classes) const {
  const auto predictions = plan_.predictions(static_cast<int>(batch_.samples()), workspace_.data());
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const auto label = static_cast<std::size_t>(batch_.labels[i]);
    ++counts[label * classes + static_cast<std::size_t>(predictions[i])];
  }
}

}  // namespace lockstep
