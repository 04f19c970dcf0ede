#include "train/checkpoints/checkpointer.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "core/options/check.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Lets the calling thread run on all cores. It inherits the core to which the trainer's thread is bound.
void unbind_thread() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);  // the kernel leaves out cores that the process may not use
}

Facts progress_facts(const Progress& progress) {
  Facts facts;
  visit(progress, [&](const auto& value, const Field& field) {
    facts.emplace_back(field.name, to_text(value, field));
  });
  return facts;
}

}  // namespace

Checkpointer::Checkpointer(const Session& session, const Run& run, const TrainingState& state,
                           std::filesystem::path folder, const CheckpointOptions& options,
                           CheckpointState facts,
                           const std::function<void(const CheckpointReport&)>& on_checkpoint)
    : session_(session),
      run_(run),
      state_(state),
      store_(std::move(folder), options.keep),
      options_(options),
      facts_(std::move(facts)),
      on_checkpoint_(on_checkpoint),
      snapshot_(session, run, state),
      last_step_(state.progress.step) {
  session.world().agree([&] {
    if (!writes()) return;
    store_.check_space(snapshot_.bytes());
    if (last_step_ > 0) store_.remove_after(last_step_);
  });
}

Checkpointer::~Checkpointer() {
  if (writing_.valid()) writing_.wait();
}

std::uint64_t Checkpointer::steps_until_due(std::uint64_t step) const {
  const std::uint64_t every = options_.every.steps;
  return every == 0 ? std::numeric_limits<std::uint64_t>::max() : every - step % every;
}

bool Checkpointer::is_due(Boundary boundary) {
  advance();
  const std::uint64_t step = state_.progress.step;
  if (!writes() || step == last_step_) return false;
  if (boundary == Boundary::end_of_run) return true;
  if (pending_) return false;  // postponed
  const auto& [steps, time] = options_.every;
  return boundary == Boundary::end_of_epoch || (steps > 0 && step / steps > last_step_ / steps) ||
         (time.seconds > 0.0 && seconds_since(last_begin_) >= time.seconds);
}

void Checkpointer::begin() {
  complete();
  const auto start = Clock::now();
  const Progress& progress = state_.progress;
  snapshot_.take();
  last_begin_ = start;
  last_step_ = progress.step;
  if (!writes()) return;
  facts_.step = progress.step;
  facts_.epoch = static_cast<int>((progress.step + run_.epoch.steps - 1) / run_.epoch.steps);
  facts_.progress = progress_facts(progress);
  pending_ = CheckpointReport{.step = progress.step, .stall_seconds = seconds_since(start)};
}

/// Rank 0: begins to write when the snapshot is complete, and reports what was written.
void Checkpointer::advance() {
  const auto start = Clock::now();
  const bool arrived = snapshot_.poll();
  if (!pending_) return;
  if (arrived && !writing_.valid()) write();
  pending_->stall_seconds += seconds_since(start);
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) report();
}

void Checkpointer::write() {
  contents_ = {.state = facts_, .model = snapshot_.model(), .optimizer = snapshot_.optimizer()};
  contents_.metadata = {{"format", "pt"}, {"producer", "lockstep"}};
  const auto best = static_cast<std::uint64_t>(state_.progress.best.epoch) * run_.epoch.steps;
  writing_ = std::async(std::launch::async, [this, best] {
    unbind_thread();
    const auto start = Clock::now();
    pending_->remark = store_.write(contents_, best);
    pending_->write_seconds = seconds_since(start);
  });
}

void Checkpointer::report() {
  std::future<void> written = std::exchange(writing_, {});
  CheckpointReport report = *std::exchange(pending_, std::nullopt);
  try {
    written.get();
    report.folder = last_ = store_.folder() / checkpoint_name(report.step);
    failure_.reset();
  } catch (const std::exception& error) {
    report.failure = error.what();
    failure_.emplace(Category::resource, report.failure);
  }
  if (on_checkpoint_) on_checkpoint_(report);
}

void Checkpointer::complete() {
  snapshot_.wait();
  if (!pending_) return;
  if (!writing_.valid()) write();
  writing_.wait();
  report();
}

void Checkpointer::finish() {
  complete();
  session_.world().agree([&] {
    if (failure_) throw Error(*failure_);
  });
}

}  // namespace lockstep
