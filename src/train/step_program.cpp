#include "train/step_program.h"

#include <algorithm>
#include <functional>
#include <numeric>
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
    : context_(context), arenas_(arenas) {
  const int ranks = context_.communicator.size();
  const int rank = context_.communicator.rank();
  const auto executors = context_.backend.device().streams().size();
  assignment_ =
      assign_leaves(leaves, context_.communicator, context_.backend.device(), context_.rank_weights);
  const auto& bounds = assignment_.ranks;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
    result_bytes_.push_back((bounds[r + 1] - bounds[r]) * sizeof(LeafResult));
  }
  const std::size_t own_bytes = ranks > 1 ? result_bytes_[static_cast<std::size_t>(rank)] : 0;
  own_results_ = context_.backend.device().allocate(own_bytes);
  all_results_ = context_.backend.device().allocate(leaves * sizeof(LeafResult));
  fold_seconds_.resize(executors);

  const std::vector<ExecutorPlan> plans = plan_executors();
  allocate_arenas(plans);
  ReducerOptions options{.parameters = context_.parameters,
                         .assignment = assignment_,
                         .partials = {},
                         .slices = context_.updater.slices(),
                         .buckets = {context_.buckets.begin(), context_.buckets.end()},
                         .summation = context_.backend.summation()};
  for (std::size_t e = 0; e < plans.size(); ++e) {
    for (const PartialSumPlan::Result& result : plans[e].sums.results()) {
      options.partials.push_back({result.node, arenas_.executors[e][result.arena].floats().data()});
    }
  }
  reducer_ = context_.reduce == Reduce::ring
                 ? make_ring_reducer(context_.communicator, std::move(options))
                 : make_canonical_reducer(context_.communicator, std::move(options));
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

void StepProgram::record(const std::vector<ExecutorPlan>& plans) {
  program_ = context_.backend.device().record([this, plans] {
    const auto streams = context_.backend.device().streams();
    std::vector<Event> done;
    for (std::size_t e = 1; e < plans.size(); ++e) {
      streams[e]->enqueue([this, e, plan = plans[e]] { run_leaves(e, plan); });
      done.push_back(streams[e]->record());
    }
    streams[0]->enqueue([this, plan = plans[0]] { run_leaves(0, plan); });
    for (const Event event : done) {
      streams[0]->wait(event);
    }
    streams[0]->enqueue([this] { reduce_and_update(); });
  });
}

void StepProgram::run_leaves(std::size_t executor, const ExecutorPlan& plan) {
  LeafRunner& runner = *context_.runners[executor];
  fold_seconds_[executor] = 0.0;
  runner.prepare(context_.parameters.data());
  for (std::size_t i = 0; i < plan.sums.leaves().size(); ++i) {
    const PartialSumPlan::LeafStep& leaf = plan.sums.leaves()[i];
    const auto number = plan.first_leaf + static_cast<std::uint32_t>(i);
    std::size_t end = context_.parameters.size();  // of what is not folded yet
    LeafOutputs outputs{.result = own_results() + (number - assignment_.executors.front()),
                        .gradients = arenas_.executors[executor][leaf.write_to].floats().data()};
    const auto ready = [&](std::size_t begin) {
      if (begin > reducer_->awaits()) return;
      fold(executor, leaf, begin, std::exchange(end, begin));
      reducer_->ready(begin);
    };
    // With several executors, others' partial sums are not final then.
    const bool alone = context_.runners.size() == 1;
    if (alone && number + 1 == assignment_.executors.back())
      outputs.ready = std::ref(ready);  // by reference: it takes no memory in a step
    runner.run(number, context_.parameters.data(), outputs);
    fold(executor, leaf, 0, end);
  }
}

/// Of elements [begin, end).
void StepProgram::fold(std::size_t executor, const PartialSumPlan::LeafStep& leaf, std::size_t begin,
                       std::size_t end) {
  if (begin == end) return;
  auto start = std::chrono::steady_clock::now();
  const auto& arenas = arenas_.executors[executor];
  for (const auto& addition : leaf.additions) {
    context_.backend.summation().add(arenas[addition.into].floats().data() + begin,
                                     arenas[addition.from].floats().data() + begin, end - begin);
  }
  fold_seconds_[executor] += lap(start);
}

LeafResult* StepProgram::own_results() const {
  return (context_.communicator.size() > 1 ? own_results_ : all_results_).as<LeafResult>();
}

void StepProgram::gather_results() {
  if (context_.communicator.size() == 1) return;
  context_.communicator.all_gather_bytes({own_results_.data(), own_results_.bytes()}, result_bytes_,
                                         {all_results_.data(), all_results_.bytes()});
}

/// Results come first: the gradient is divided by the samples that were computed.
void StepProgram::reduce_and_update() {
  auto start = std::chrono::steady_clock::now();
  reducer_->ready(0);  // before other communication on all ranks, those without micro-batches too
  gather_results();
  context_.backend.conclude({all_results_.as<LeafResult>(), assignment_.leaves}, context_.table);
  context_.updater.run(*reducer_);
  reduce_seconds_ = lap(start) - update_seconds();
}

void StepProgram::run() { program_->run(); }

double StepProgram::fold_seconds() const {
  return std::accumulate(fold_seconds_.begin(), fold_seconds_.end(), 0.0);
}

}  // namespace lockstep
