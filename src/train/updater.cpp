#include "train/updater.h"

#include "train/backend.h"

namespace lockstep {

Updater::Updater(Backend& backend, Communicator& communicator, const UpdaterOptions& options)
    : communicator_(communicator),
      options_(options),
      optimizer_(make_optimizer(options.optimizer)),
      layerwise_(dynamic_cast<const LayerwiseOptimizer*>(optimizer_.get()) != nullptr),
      segments_(make_segments(options.parameters, options.layout, options.optimizer, layerwise_)),
      norms_(options.parameters, options.layout),
      slices_(even_slices(options.layout.elements, communicator.size())) {
  if (wants_norms()) {  // a block has one owner
    for (std::size_t i = 1; i + 1 < slices_.size(); ++i) slices_[i] = norms_.round_up(slices_[i]);
  }
  const auto rank = static_cast<std::size_t>(communicator.rank());
  first_ = options.sharded ? slices_[rank] : 0;
  last_ = options.sharded ? slices_[rank + 1] : options.layout.elements;
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
  averages_exchange_.counts.assign(static_cast<std::size_t>(communicator.size()), 0);
  averages_exchange_.slices = slices_;
  averages_exchange_.results = options.averages;
  if (wants_norms()) allocate_norms(backend.device());
  apply_ = [this](std::size_t begin, std::span<const float> sum) {
    auto start = std::chrono::steady_clock::now();
    update_->apply(begin, sum);
    seconds_ += lap(start);
  };
}

void Updater::allocate_norms(Device& device) {
  for (std::size_t rank = 0; rank + 1 < slices_.size(); ++rank) {
    sum_bytes_.push_back((norms_.block_at(slices_[rank + 1]) - norms_.block_at(slices_[rank])) *
                         sizeof(double));
  }
  const std::size_t own_blocks = gathers_norms() ? norms_.block_at(last_) - norms_.block_at(first_) : 0;
  own_sums_ = device.allocate(own_blocks * sizeof(double));
  gradient_sums_ = device.allocate(norms_.blocks() * sizeof(double));
  parameter_sums_ = device.allocate(norms_.blocks() * sizeof(double));
}

void Updater::gather_averages() {
  if (options_.averages.empty() || !options_.sharded) return;
  communicator_.exchange(averages_exchange_, [](std::span<const float* const>, std::size_t, std::size_t) {});
}

void Updater::run(Reducer& reducer) {
  seconds_ = 0.0;
  if (!wants_norms()) {
    reducer.reduce(apply_);
    return;
  }
  float* sum = reducer.sum().data();
  if (options_.optimizer.clip_grad > 0.0) {
    measure(sum, gradient_sums_);
    update_->clip(gradient_sums_.as<double>());
  }
  if (layerwise_) {
    auto start = std::chrono::steady_clock::now();
    update_->prepare(sum);
    seconds_ += lap(start);
    measure(sum, gradient_sums_);
    measure(options_.values.data() + first_, parameter_sums_);
    update_->choose_trust_ratios(gradient_sums_.as<double>(), parameter_sums_.as<double>());
  }
  reducer.apply_sum(apply_);
}

void Updater::measure(const float* owned, const Buffer& sums) {
  auto start = std::chrono::steady_clock::now();
  double* own = (gathers_norms() ? own_sums_ : sums).as<double>();
  update_->measure(owned, own);
  seconds_ += lap(start);
  if (gathers_norms()) {
    communicator_.all_gather_bytes({own_sums_.data(), own_sums_.bytes()}, sum_bytes_,
                                   {sums.data(), sums.bytes()});
  }
}

}  // namespace lockstep
