#include "train/updater.h"

#include "train/backend.h"

namespace lockstep {
namespace {

const Fold one_input{.program = {0}, .depth = 1};

std::unique_ptr<Gather> plan_arena_gather(Communicator& communicator, std::span<float> arena,
                                          const Slices& slices) {
  std::vector<std::size_t> bounds;
  for (const std::size_t element : slices) bounds.push_back(element * sizeof(float));
  return communicator.plan_gather(std::as_writable_bytes(arena), bounds);
}

}  // namespace

Updater::Updater(Backend& backend, Communicator& communicator, const UpdaterOptions& options)
    : options_(options),
      optimizer_(make_optimizer(options.optimizer)),
      layerwise_(dynamic_cast<const LayerwiseOptimizer*>(optimizer_.get()) != nullptr),
      segments_(make_segments(options.parameters, options.layout, options.optimizer, layerwise_)),
      norms_(options.parameters, options.layout),
      alone_(make_self_communicator()),
      owners_(options.sharded ? communicator : *alone_),
      slices_(even_slices(options.layout.elements, owners_.size())) {
  if (wants_norms()) {  // a block has one owner
    for (std::size_t i = 1; i + 1 < slices_.size(); ++i) slices_[i] = norms_.round_up(slices_[i]);
  }
  const auto rank = static_cast<std::size_t>(owners_.rank());
  first_ = slices_[rank];
  last_ = slices_[rank + 1];
  // Ranks meet before what one of them may fail at.
  if (wants_norms()) {
    gradient_sums_ = plan_block_sums(backend.device());
    parameter_sums_ = plan_block_sums(backend.device());
  }
  values_ = plan_arena_gather(owners_, options.values, slices_);
  averages_ = options.averages.empty() ? alone_->plan_gather({}, {})
                                       : plan_arena_gather(owners_, options.averages, slices_);
  update_ = backend.make_update({.device = backend.device(),
                                 .optimizer = *optimizer_,
                                 .rule = options_.optimizer,
                                 .segments = segments_,
                                 .norms = norms_,
                                 .parameters = options.parameters.size(),
                                 .first = first_,
                                 .last = last_,
                                 .values = options.values,
                                 .averages = options.averages,
                                 .average_decay = options.average_decay,
                                 .log = options.log});
}

Updater::BlockSums Updater::plan_block_sums(Device& device) const {
  std::vector<std::size_t> bounds;
  for (const std::size_t element : slices_) bounds.push_back(norms_.block_at(element) * sizeof(double));
  BlockSums sums{.values = device.allocate(norms_.blocks() * sizeof(double)), .gather = nullptr};
  sums.gather = owners_.plan_gather({sums.values.data(), sums.values.bytes()}, bounds);
  return sums;
}

void Updater::record(Stream& stream, GradientSums& gradients) {
  if (wants_norms()) {
    scale_by_norms(stream, gradients.sum(stream));
    update_->apply(stream, gradients.summed(), one_input);
  } else {
    while (const auto chunk = gradients.next(stream)) update_->apply(stream, *chunk, gradients.fold());
  }
  values_->record(stream);  // peers have read the partial sums when they come to it
}

void Updater::record_averages(Stream& stream) { averages_->record(stream); }

void Updater::scale_by_norms(Stream& stream, float* sum) {
  if (options_.optimizer.clip_grad > 0.0) {
    measure(stream, sum, gradient_sums_);
    update_->clip(stream, gradient_sums_.values.as<double>());
  }
  if (layerwise_) {
    update_->prepare(stream, sum);
    measure(stream, sum, gradient_sums_);
    measure(stream, options_.values.data() + first_, parameter_sums_);
    update_->choose_trust_ratios(stream, gradient_sums_.values.as<double>(),
                                 parameter_sums_.values.as<double>());
  }
}

void Updater::measure(Stream& stream, const float* owned, const BlockSums& sums) {
  update_->measure(stream, owned, sums.values.as<double>() + norms_.block_at(first_));
  sums.gather->record(stream);
}

}  // namespace lockstep
