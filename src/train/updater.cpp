#include "train/updater.h"

#include <chrono>
#include <cmath>

#include "train/leaf_runner.h"

namespace lockstep {
namespace {

/// torch.nn.utils.clip_grad_norm_: at most 1.
double clip_coefficient(double largest, double norm) { return std::min(1.0, largest / (norm + 1e-6)); }

}  // namespace

Updater::Updater(Device& device, Communicator& communicator, const UpdaterOptions& options)
    : communicator_(communicator),
      options_(options),
      optimizer_(make_optimizer(options.optimizer)),
      layerwise_(dynamic_cast<const LayerwiseOptimizer*>(optimizer_.get())),
      segments_(make_segments(options.parameters, options.layout, options.optimizer, layerwise_ != nullptr)),
      norms_(options.parameters, options.layout),
      slices_(even_slices(options.layout.elements, communicator.size())) {
  if (wants_norms()) {  // a block has one owner
    for (std::size_t i = 1; i + 1 < slices_.size(); ++i) slices_[i] = norms_.round_up(slices_[i]);
  }
  const auto rank = static_cast<std::size_t>(communicator.rank());
  first_ = options.sharded ? slices_[rank] : 0;
  last_ = options.sharded ? slices_[rank + 1] : options.layout.elements;
  for (std::size_t i = 0; i < optimizer_->states().size(); ++i) {
    states_.push_back(device.allocate((last_ - first_) * sizeof(float)));
  }
  state_parts_.resize(states_.size());
  averages_exchange_.counts.assign(static_cast<std::size_t>(communicator.size()), 0);
  averages_exchange_.slices = slices_;
  averages_exchange_.results = options.averages;
  allocate_norms();
  apply_ = [this](std::size_t begin, std::span<const float> sum) { apply(begin, sum); };
}

void Updater::allocate_norms() {
  if (!wants_norms()) return;
  for (std::size_t rank = 0; rank + 1 < slices_.size(); ++rank) {
    sum_bytes_.push_back((norms_.block_at(slices_[rank + 1]) - norms_.block_at(slices_[rank])) *
                         sizeof(double));
  }
  own_sums_.resize(norms_.block_at(last_) - norms_.block_at(first_));
  gradient_sums_.resize(norms_.blocks());
  parameter_sums_.resize(norms_.blocks());
  trust_ratios_.assign(options_.parameters.size(), 1.0F);
}

void Updater::gather_averages() {
  if (options_.averages.empty() || !options_.sharded) return;
  communicator_.exchange(averages_exchange_, [](std::span<const float* const>, std::size_t, std::size_t) {});
}

void Updater::run(Reducer& reducer, const Optimizer::Step& step) {
  step_ = step;
  statistic_scale_ = step.gradient_scale;
  gradient_norm_ = 0.0;
  seconds_ = 0.0;
  if (!wants_norms()) {
    reducer.reduce(apply_);
    return;
  }
  const std::span<float> sum = reducer.sum();
  if (options_.optimizer.clip_grad > 0.0) {
    measure(sum, gradient_sums_);
    gradient_norm_ = norm_of_trained() * step.gradient_scale;
    if (!std::isfinite(gradient_norm_)) return;
    step_.gradient_scale *=
        static_cast<float>(clip_coefficient(options_.optimizer.clip_grad, gradient_norm_));
  }
  if (layerwise_ != nullptr) choose_trust_ratios(sum);
  reducer.apply_sum(apply_);
}

void Updater::measure(std::span<const float> owned, std::vector<double>& sums) {
  auto start = std::chrono::steady_clock::now();
  norms_.measure(owned, norms_.block_at(first_), own_sums_);
  seconds_ += lap(start);
  if (options_.sharded) {
    communicator_.all_gather_bytes(std::as_bytes(std::span(own_sums_)), sum_bytes_,
                                   std::as_writable_bytes(std::span(sums)));
  } else {
    std::ranges::copy(own_sums_, sums.begin());
  }
}

double Updater::norm_of_trained() const {
  double total = 0.0;
  for (const Segment& segment : segments_) {
    if (segment.kind != Segment::Kind::trained) continue;
    for (std::size_t i = segment.parameter; i < segment.parameter + segment.parameters; ++i) {
      total += norms_.squares(i, gradient_sums_);
    }
  }
  return std::sqrt(total);
}

/// From the whole parameters and what the rule makes of their gradients, which it leaves in `sum`.
void Updater::choose_trust_ratios(std::span<float> sum) {
  auto start = std::chrono::steady_clock::now();
  visit_segments(segments_, first_, last_, [&](const Segment& segment, std::size_t first, std::size_t last) {
    if (segment.kind != Segment::Kind::trained) return;
    const std::size_t count = last - first;
    layerwise_->prepare(options_.values.subspan(first, count), sum.subspan(first - first_, count),
                        states_at(first, count), step_of(segment));
  });
  seconds_ += lap(start);
  measure(sum, gradient_sums_);
  measure(options_.values.subspan(first_, last_ - first_), parameter_sums_);
  for (const Segment& segment : segments_) {
    if (!segment.adapts) continue;
    const double parameter = std::sqrt(norms_.squares(segment.parameter, parameter_sums_));
    const double gradient = std::sqrt(norms_.squares(segment.parameter, gradient_sums_));
    trust_ratios_[segment.parameter] = layerwise_->trust_ratio(parameter, gradient, step_of(segment));
  }
}

/// `sum`: of elements [begin, begin + sum.size()), owned by this rank.
void Updater::apply(std::size_t begin, std::span<const float> sum) {
  auto start = std::chrono::steady_clock::now();
  visit_segments(segments_, begin, begin + sum.size(),
                 [&](const Segment& segment, std::size_t first, std::size_t last) {
                   apply_segment(segment, first, sum.subspan(first - begin, last - first));
                 });
  if (!options_.averages.empty()) average(begin, sum.size());
  seconds_ += lap(start);
}

void Updater::apply_segment(const Segment& segment, std::size_t first, std::span<const float> sum) {
  const std::span<float> values = options_.values.subspan(first, sum.size());
  if (segment.kind == Segment::Kind::trained) {
    optimizer_->update(values, sum, states_at(first, sum.size()), step_of(segment));
  } else if (segment.kind == Segment::Kind::statistic) {
    const auto keep = static_cast<float>(1.0 - segment.momentum);
    const auto take = static_cast<float>(segment.momentum);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = keep * values[i] + take * (sum[i] * statistic_scale_);
    }
  }
}

void Updater::average(std::size_t begin, std::size_t count) {
  const auto keep = static_cast<float>(options_.average_decay);
  const auto take = static_cast<float>(1.0 - options_.average_decay);
  const float* values = options_.values.data() + begin;
  float* averages = options_.averages.data() + begin;
  for (std::size_t i = 0; i < count; ++i) averages[i] = keep * averages[i] + take * values[i];
}

Optimizer::Step Updater::step_of(const Segment& segment) const {
  Optimizer::Step step = step_;
  step.weight_decay = segment.weight_decay;
  if (segment.adapts) step.trust_ratio = trust_ratios_[segment.parameter];
  return step;
}

std::span<const std::span<float>> Updater::states_at(std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    state_parts_[i] = states_[i].floats().subspan(first - first_, count);
  }
  return state_parts_;
}

}  // namespace lockstep
