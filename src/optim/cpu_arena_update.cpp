#include <algorithm>
#include <cmath>

#include "gradient/block_fold.h"
#include "optim/arena_update.h"

namespace lockstep {
namespace {

class CpuArenaUpdate final : public ArenaUpdate {
 public:
  explicit CpuArenaUpdate(const ArenaUpdateOptions& options)
      : options_(options),
        state_parts_(options.arenas.states.size()),
        trust_ratios_(options.parameters, 1.0F) {}

  void apply(Stream& stream, const SumChunk& chunk, const Fold& fold) override {
    blocks_.reserve(fold);
    stream.call([this, chunk, &fold] { apply_chunk(chunk, fold); }, Phase::update);
  }
  void measure(Stream& stream, const float* values, double* sums) override {
    stream.call([this, values, sums] { measure_blocks(values, sums); }, Phase::update);
  }
  void clip(Stream& stream, const double* sums) override {
    stream.call([this, sums] { clip_step(sums); }, Phase::update);
  }
  void prepare(Stream& stream, float* sum) override {
    stream.call([this, sum] { prepare_sum(sum); }, Phase::update);
  }
  void choose_trust_ratios(Stream& stream, const double* gradient_sums,
                           const double* parameter_sums) override {
    stream.call([this, gradient_sums, parameter_sums] { set_trust_ratios(gradient_sums, parameter_sums); },
                Phase::update);
  }

 private:
  /// Folds and updates block by block, so that the sum is still in the L1 cache when it is used.
  void apply_chunk(const SumChunk& chunk, const Fold& fold) {
    if (options_.log.outcome().updates == 0) return;
    for (std::size_t at = 0; at < chunk.size(); at += BlockFold::block) {
      const std::size_t count = std::min(BlockFold::block, chunk.size() - at);
      apply_sum(chunk.begin + at, {blocks_.sum(fold, chunk.inputs, at, count), count});
    }
  }

  void apply_sum(std::size_t begin, std::span<const float> sum) {
    visit_segments(options_.segments, begin, begin + sum.size(),
                   [&](const Segment& segment, std::size_t first, std::size_t last) {
                     apply_segment(segment, first, sum.subspan(first - begin, last - first));
                   });
    if (!options_.arenas.averages.empty()) average(begin, sum.size());
  }

  void measure_blocks(const float* values, double* sums) const {
    const std::size_t first = options_.norms.block_at(options_.first);
    const std::size_t last = options_.norms.block_at(options_.last);
    options_.norms.measure({values, options_.last - options_.first}, first, {sums, last - first});
  }

  void clip_step(const double* sums) const {
    StepOutcome& outcome = options_.log.outcome();
    outcome.gradient_norm = norm_of_trained(all_blocks(sums)) * outcome.gradient_scale;
    if (!std::isfinite(outcome.gradient_norm)) {
      outcome.updates = 0;
      return;
    }
    outcome.gradient_scale *= static_cast<float>(clip_coefficient(options_.clip_grad, outcome.gradient_norm));
  }

  void prepare_sum(float* sum) {
    if (options_.log.outcome().updates == 0) return;
    visit_segments(options_.segments, options_.first, options_.last,
                   [&](const Segment& segment, std::size_t first, std::size_t last) {
                     if (segment.kind != Segment::Kind::trained) return;
                     const std::size_t count = last - first;
                     options_.optimizer.prepare(options_.arenas.values.subspan(first, count),
                                                {sum + (first - options_.first), count},
                                                states_at(first, count), step_of(segment));
                   });
  }

  void set_trust_ratios(const double* gradient_sums, const double* parameter_sums) {
    for (const Segment& segment : options_.segments) {
      if (!segment.adapts) continue;
      const double parameter =
          std::sqrt(options_.norms.squares(segment.parameter, all_blocks(parameter_sums)));
      const double gradient = std::sqrt(options_.norms.squares(segment.parameter, all_blocks(gradient_sums)));
      trust_ratios_[segment.parameter] =
          options_.optimizer.trust_ratio(parameter, gradient, step_of(segment));
    }
  }

  std::span<const double> all_blocks(const double* sums) const { return {sums, options_.norms.blocks()}; }

  double norm_of_trained(std::span<const double> sums) const {
    double total = 0.0;
    for (const Segment& segment : options_.segments) {
      if (segment.kind != Segment::Kind::trained) continue;
      for (std::size_t i = segment.parameter; i < segment.parameter + segment.parameters; ++i) {
        total += options_.norms.squares(i, sums);
      }
    }
    return std::sqrt(total);
  }

  void apply_segment(const Segment& segment, std::size_t first, std::span<const float> sum) {
    const std::span<float> values = options_.arenas.values.subspan(first, sum.size());
    if (segment.kind == Segment::Kind::trained) {
      options_.optimizer.update(values, sum, states_at(first, sum.size()), step_of(segment));
    } else if (segment.kind == Segment::Kind::statistic) {
      const auto keep = static_cast<float>(1.0 - segment.momentum);
      const auto take = static_cast<float>(segment.momentum);
      const float scale = options_.log.outcome().statistic_scale;
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = keep * values[i] + take * (sum[i] * scale);
    }
  }

  void average(std::size_t begin, std::size_t count) {
    const auto take = static_cast<float>(1.0 - options_.arenas.average_decay);
    const float* values = options_.arenas.values.data() + begin;
    float* averages = options_.arenas.averages.data() + begin;
    for (std::size_t i = 0; i < count; ++i) averages[i] += take * (values[i] - averages[i]);
  }

  Optimizer::Step step_of(const Segment& segment) const {
    const StepInput& input = options_.log.input();
    return {.gradient_scale = options_.log.outcome().gradient_scale,
            .learning_rate = input.learning_rate,
            .number = input.number,
            .weight_decay = segment.weight_decay,
            .trust_ratio = segment.adapts ? trust_ratios_[segment.parameter] : 1.0F};
  }

  std::span<const std::span<float>> states_at(std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < state_parts_.size(); ++i) {
      state_parts_[i] = options_.arenas.states[i].subspan(first - options_.first, count);
    }
    return state_parts_;
  }

  ArenaUpdateOptions options_;
  std::vector<std::span<float>> state_parts_;
  std::vector<float> trust_ratios_;  ///< [parameter]
  BlockFold blocks_;
};

}  // namespace

std::unique_ptr<ArenaUpdate> make_cpu_arena_update(const ArenaUpdateOptions& options) {
  return std::make_unique<CpuArenaUpdate>(options);
}

}  // namespace lockstep
