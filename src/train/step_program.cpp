#include "train/step_program.h"

#include <algorithm>
#include <utility>

namespace lockstep {

Assignment assign_leaves(std::uint32_t leaves, const Communicator& communicator, Device& device,
                         std::span<const double> weights) {
  return assign(leaves, communicator.size(), communicator.rank(), static_cast<int>(device.streams().size()),
                weights);
}

/// The leaves of one executor and how their gradients fold.
struct StepProgram::ExecutorPlan {
  std::uint32_t first_leaf;
  PartialSumPlan sums;
};

StepProgram::StepProgram(const StepContext& context, GradientArenas& arenas, std::uint32_t leaves)
    : context_(context),
      arenas_(arenas),
      assignment_(
          assign_leaves(leaves, context.communicator, context.backend.device(), context.rank_weights)),
      results_(context.backend.device().allocate(leaves * sizeof(LeafResult))) {
  const std::vector<ExecutorPlan> plans = plan_executors();
  allocate_arenas(plans);
  plan_exchange(plans);
  record(plans);
}

std::vector<StepProgram::ExecutorPlan> StepProgram::plan_executors() const {
  std::vector<ExecutorPlan> plans;
  const auto& bounds = assignment_.executors;
  for (std::size_t e = 0; e + 1 < bounds.size(); ++e) {
    plans.push_back({bounds[e], PartialSumPlan(bounds[e], bounds[e + 1])});
  }
  return plans;
}

/// Nothing that only one rank can fail at comes before the collective call.
void StepProgram::allocate_arenas(const std::vector<ExecutorPlan>& plans) {
  arenas_.executors.resize(plans.size());
  std::size_t missing = 0;
  for (std::size_t e = 0; e < plans.size(); ++e) {
    missing +=
        plans[e].sums.arenas() - std::min<std::size_t>(plans[e].sums.arenas(), arenas_.executors[e].size());
  }
  const std::size_t elements = context_.parameters.size();
  const std::size_t available = context_.backend.device().available_bytes();
  std::vector<Buffer> fresh =
      lockstep::allocate_arenas(context_.communicator, context_.backend.device(), missing, elements);
  check_memory(available, missing * elements * sizeof(float), "gradient sums");
  for (std::size_t e = 0; e < plans.size(); ++e) {
    while (arenas_.executors[e].size() < plans[e].sums.arenas()) {
      arenas_.executors[e].push_back(std::move(fresh.back()));
      fresh.pop_back();
    }
  }
}

void StepProgram::plan_exchange(const std::vector<ExecutorPlan>& plans) {
  std::vector<std::size_t> bounds;
  for (const std::uint32_t leaf : assignment_.ranks) bounds.push_back(leaf * sizeof(LeafResult));
  gather_results_ = context_.communicator.plan_gather({results_.data(), results_.bytes()}, bounds);

  GradientSumsOptions options{.elements = context_.parameters.size(),
                              .assignment = assignment_,
                              .partials = {},
                              .summation = context_.backend.summation()};
  for (std::size_t e = 0; e < plans.size(); ++e) {
    for (const PartialSumPlan::Result& result : plans[e].sums.results()) {
      options.partials.push_back({result.node, arenas_.executors[e][result.arena].floats().data()});
    }
  }
  gradients_ = context_.reduce == Reduce::ring
                   ? plan_ring_sums(context_.communicator, options, context_.buckets)
                   : plan_canonical_sums(context_.communicator, options, context_.updater.slices());
}

void StepProgram::record(const std::vector<ExecutorPlan>& plans) {
  program_ = context_.backend.device().record([this, plans] {
    const auto streams = context_.backend.device().streams();
    for (std::size_t e = 0; e < plans.size(); ++e) record_leaves(*streams[e], e, plans[e]);
    for (std::size_t e = 1; e < plans.size(); ++e) streams[0]->wait(streams[e]->record());
    record_sum_and_update(*streams[0]);
  });
}

/// Leaves of one executor, each folded into its siblings' sums.
void StepProgram::record_leaves(Stream& stream, std::size_t executor, const ExecutorPlan& plan) {
  LeafRunner& runner = *context_.runners[executor];
  const float* const parameters = context_.parameters.data();
  const auto arena = [&](std::uint32_t number) {
    return arenas_.executors[executor][number].floats().data();
  };
  runner.prepare(stream, parameters);
  for (std::size_t i = 0; i < plan.sums.leaves().size(); ++i) {
    const PartialSumPlan::LeafStep& leaf = plan.sums.leaves()[i];
    const auto number = plan.first_leaf + static_cast<std::uint32_t>(i);
    runner.load(stream, number);
    runner.forward(stream, runner.nodes_and_loss(), parameters, results_.as<LeafResult>() + number);
    std::size_t end = context_.parameters.size();  // of what is not folded yet
    for (const GradientPart& part : parts_of_leaf(runner, number)) {
      runner.backward(stream, part.nodes, parameters, arena(leaf.write_to));
      const std::size_t begin = part.final_from;
      for (const auto& addition : leaf.additions) {
        if (begin == end) break;
        context_.backend.summation().add(stream, arena(addition.into) + begin, arena(addition.from) + begin,
                                         end - begin);
      }
      if (begin > 0) gradients_->ready(stream, begin);
      end = begin;
    }
  }
}

/// Parts of a leaf's backward. The rank's last leaf has several where that lets an exchange begin early: each
/// completes a bucket. With several executors the others' partial sums are not final then.
std::vector<GradientPart> StepProgram::parts_of_leaf(const LeafRunner& runner, std::uint32_t leaf) const {
  const bool last = context_.runners.size() == 1 && leaf + 1 == assignment_.executors.back();
  if (!last || context_.reduce != Reduce::ring) return {{runner.nodes(), 0}};
  std::vector<GradientPart> joined;
  std::size_t waiting = context_.buckets.size();  // buckets that are not complete
  std::size_t end = runner.nodes().end;
  for (const GradientPart& part : runner.parts()) {
    if (part.final_from > context_.buckets[waiting - 1]) continue;
    while (waiting > 1 && context_.buckets[waiting - 1] >= part.final_from) --waiting;
    joined.push_back({{part.nodes.begin, end}, part.final_from});
    end = part.nodes.begin;
  }
  return joined;
}

/// Results come first: the gradient is divided by the samples that were computed.
void StepProgram::record_sum_and_update(Stream& stream) {
  gradients_->ready(stream, 0);  // before other communication on all ranks, those without micro-batches too
  gather_results_->record(stream);
  context_.backend.conclude(stream, {results_.as<LeafResult>(), assignment_.leaves}, context_.table);
  context_.updater.record(stream, *gradients_);
}

void StepProgram::run() { program_->run(); }

}  // namespace lockstep
