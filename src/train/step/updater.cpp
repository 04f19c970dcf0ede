#include "train/step/updater.h"

#include "comm/world/agreement.h"
#include "train/session/backend.h"

namespace lockstep {
namespace {

const Fold one_input{.program = {0}, .depth = 1};

bool needs_norms(const OptimizerOptions& rule, const Optimizer& optimizer) {
  return optimizer.layerwise() || rule.clip_grad > 0.0;
}

}  // namespace

Slices update_slices(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                     const OptimizerOptions& rule, int owners) {
  Slices slices = even_slices(layout.elements, owners);
  if (!needs_norms(rule, Optimizer(rule))) return slices;
  const BlockNorms norms(parameters, layout);
  for (std::size_t i = 1; i + 1 < slices.size(); ++i) slices[i] = norms.round_up(slices[i]);
  return slices;
}

Updater::Updater(Backend& backend, Communicator& owners, const std::vector<Parameter>& parameters,
                 const ArenaLayout& layout, const OptimizerOptions& rule, UpdatedArenas arenas, StepLog log)
    : rule_(rule),
      arenas_(std::move(arenas)),
      optimizer_(rule),
      segments_(make_segments(parameters, layout, rule, optimizer_.layerwise())),
      norms_(parameters, layout),
      owners_(owners) {
  const auto rank = static_cast<std::size_t>(owners_.rank());
  first_ = slices()[rank];
  last_ = slices()[rank + 1];
  // Collective calls come before work that can fail on a single rank.
  if (needs_norms(rule_, optimizer_)) {
    gradient_sums_ = plan_block_sums(backend.device());
    parameter_sums_ = plan_block_sums(backend.device());
  }
  values_ = plan_arena_gather(owners_, arenas_.values, slices());
  if (!arenas_.averages.empty()) averages_ = plan_arena_gather(owners_, arenas_.averages, slices());
  update_ = backend.make_update({.device = backend.device(),
                                 .optimizer = optimizer_,
                                 .segments = segments_,
                                 .norms = norms_,
                                 .arenas = arenas_,
                                 .parameters = parameters.size(),
                                 .first = first_,
                                 .last = last_,
                                 .clip_grad = rule_.clip_grad,
                                 .log = log});
}

Updater::BlockSums Updater::plan_block_sums(Device& device) const {
  std::vector<std::size_t> bounds;
  for (const std::size_t element : slices()) bounds.push_back(norms_.block_at(element) * sizeof(double));
  BlockSums sums;
  agree(owners_, [&] { sums.values = device.allocate(norms_.blocks() * sizeof(double)); });
  sums.gather = owners_.plan_gather({sums.values.data(), sums.values.bytes()}, bounds);
  return sums;
}

void Updater::record(Stream& stream, GradientSums& gradients) {
  if (needs_norms(rule_, optimizer_)) {
    scale_by_norms(stream, gradients.sum(stream));
    update_->apply(stream, gradients.summed(), one_input);
  } else {
    while (const auto chunk = gradients.next(stream)) update_->apply(stream, *chunk, gradients.fold());
  }
  values_(stream);  // when peers reach this exchange, they have read the partial sums
}

void Updater::record_averages(Stream& stream) {
  if (averages_) averages_(stream);
}

void Updater::scale_by_norms(Stream& stream, float* sum) {
  if (rule_.clip_grad > 0.0) {
    measure(stream, sum, gradient_sums_);
    update_->clip(stream, gradient_sums_.values.as<double>());
  }
  if (optimizer_.layerwise()) {
    update_->prepare(stream, sum);
    measure(stream, sum, gradient_sums_);
    measure(stream, arenas_.values.data() + first_, parameter_sums_);
    update_->choose_trust_ratios(stream, gradient_sums_.values.as<double>(),
                                 parameter_sums_.values.as<double>());
  }
}

void Updater::measure(Stream& stream, const float* owned, const BlockSums& sums) {
  update_->measure(stream, owned, sums.values.as<double>() + norms_.block_at(first_));
  sums.gather(stream);
}

}  // namespace lockstep
