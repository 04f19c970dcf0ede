#include "train/checkpoints/checkpointer.h"

#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include "comm/world/watch_of.h"
#include "core/background.h"
#include "core/files/file.h"
#include "core/finite.h"
#include "core/process/launcher_report.h"
#include "core/text/message.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/checkpoints/restore.h"
#include "train/loop/run_position.h"

namespace lockstep {
namespace {

/// Time limit for all attempts to write the last checkpoint of a stopped run while the disk is full.
/// lockstep-run kills ranks 30 s after asking them to stop, and ranks finish their step first.
constexpr double seconds_of_attempts = 20.0;
constexpr double seconds_between_attempts = 1.0;

/// Lets the calling thread run on all cores: it has inherited the binding of the trainer's thread to one
/// core.
void unbind_thread() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);  // the kernel leaves out cores that the process may not use
}

/// Throws Error(data) for a parameter or statistic with a value that is not finite: no run could continue
/// from that checkpoint.
void check_finite(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& tensor : tensors) {
    const auto* values = std::get_if<std::span<const float>>(&tensor.values);
    if (values == nullptr || all_finite(*values)) continue;
    throw Error(Category::data, fmt::format("the parameter '{}' is not finite", tensor.name));
  }
}

/// Remark that a checkpoint after `step` could not be set aside; `failure`: the reason.
std::string stays(const std::string& failure, std::uint64_t step) {
  return fmt::format("{}; a later checkpoint than that of step {} stays", failure, step);
}

/// End of the message that the last checkpoint of a run could not be written: names the checkpoint before it.
/// Does not throw if the folder cannot be listed, because the failed write decides the exit status.
std::string last_checkpoint_in(const std::filesystem::path& folder) {
  try {
    const auto earlier = list_checkpoints(folder);
    return earlier.empty() ? "there is none before it" : "the one before it is " + earlier.front().string();
  } catch (const Error& error) {
    return error.what();
  }
}

Facts progress_facts(const Progress& progress) {
  Facts facts;
  visit(progress, [&](const auto& value, const Field& field) {
    facts.emplace_back(field.name, to_text(value, field));
  });
  return facts;
}

}  // namespace

void warn_of_checkpoint(const CheckpointReport& checkpoint, bool continues) {
  print_warning(checkpoint.remark);
  if (checkpoint.failure.empty()) return;
  print_warning(fmt::format("no checkpoint of step {}: {}{}", checkpoint.step, checkpoint.failure,
                            continues ? "; the run continues" : ""));
}

Checkpointer::Checkpointer(const Session& session, const Run& run, TrainingState& state,
                           std::filesystem::path folder, const CheckpointOptions& options,
                           CheckpointState facts, ModelDescription description, const RunHooks& hooks)
    : session_(session),
      run_(run),
      state_(state),
      store_(std::move(folder), options.keep),
      options_(options),
      facts_(std::move(facts)),
      description_(std::move(description)),
      hooks_(hooks),
      snapshot_(session, run, state),
      last_step_(state.progress.step),
      last_evaluated_(state.progress.evaluated) {}

Checkpointer::~Checkpointer() {
  if (!writing_.valid()) return;
  // After an error, the other ranks wait for MPI to end until the file is written. That is not a hang.
  const InStage in(watch_of(session_.world()), Stage::checkpoint);
  writing_.wait();
}

std::uint64_t Checkpointer::steps_until_due(std::uint64_t step) const {
  return steps_to_multiple(options_.every.steps, step);
}

bool Checkpointer::is_due(Boundary boundary) {
  advance();
  const std::uint64_t step = state_.progress.step;
  // A run that was stopped during an evaluation has a checkpoint of this step from before the evaluation.
  if (!writes() || (step == last_step_ && state_.progress.evaluated == last_evaluated_)) return false;
  if (boundary == Boundary::end_of_run) return true;
  const auto& [steps, time] = options_.every;
  const bool due = late_ || boundary == Boundary::end_of_epoch ||
                   (steps > 0 && step / steps > last_step_ / steps) ||
                   (time.seconds > 0.0 && steady_seconds() - last_begin_ >= time.seconds);
  const bool postpones = !rolls_back() || time.seconds > 0.0;
  const bool is_best = boundary == Boundary::end_of_epoch && step == best_step();
  late_ = due && pending_ && postpones && !is_best;
  return due && !late_;
}

void Checkpointer::begin() {
  const double start = steady_seconds();
  complete();
  const Progress& progress = state_.progress;
  snapshot_.take();
  last_begin_ = start;
  last_step_ = progress.step;
  last_evaluated_ = progress.evaluated;
  best_step_ = best_step();
  late_ = false;
  if (!writes()) return;
  facts_.step = progress.step;
  facts_.epoch = static_cast<int>((progress.step + run_.epoch.steps - 1) / run_.epoch.steps);
  facts_.progress = progress_facts(progress);
  description_.results = state_.present_results();
  pending_ = CheckpointReport{.step = progress.step, .stall_seconds = steady_seconds() - start};
}

/// On rank 0, starts writing once the snapshot is complete, and reports the checkpoint once it is written.
void Checkpointer::advance() {
  const double start = steady_seconds();
  const bool arrived = snapshot_.poll();
  if (!pending_) return;
  if (arrived && !writing_.valid()) write();
  pending_->stall_seconds += steady_seconds() - start;
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) report();
}

void Checkpointer::write() {
  contents_ = {.state = facts_, .model = snapshot_.model(), .optimizer = snapshot_.optimizer()};
  contents_.metadata = metadata_of(description_);
  contents_.metadata.insert({{"format", "pt"}, {"producer", "lockstep"}});
  write_begin_ = steady_seconds();
  const StepFilter needed =
      rolls_back() ? [this](std::uint64_t step) { return is_regular(step); } : StepFilter();
  const InStage in(watch_of(session_.world()), Stage::checkpoint);  // the write may run on this thread
  const std::thread::id trains = std::this_thread::get_id();
  writing_ = in_background([this, needed, trains] {
    if (std::this_thread::get_id() != trains) unbind_thread();
    const double start = steady_seconds();
    check_finite(contents_.model);
    if (hooks_.before_checkpoint) hooks_.before_checkpoint();
    pending_->remark = store_.write(contents_, best_step_, needed);
    pending_->write_seconds = steady_seconds() - start;
    report_to_launcher({.checkpoint = pending_->step});
  });
}

void Checkpointer::report() {
  std::future<void> written = std::exchange(writing_, {});
  CheckpointReport report = *std::exchange(pending_, std::nullopt);
  const bool is_repeated = std::exchange(tries_again_, false);
  try {
    written.get();
    report.folder = store_.folder() / checkpoint_name(report.step);
    failure_.reset();
  } catch (const FileError& error) {
    failure_ = as_error(std::current_exception());
    // The next attempt may take as long as this one.
    const double now = steady_seconds();
    const double next_end = now + seconds_between_attempts + (now - write_begin_);
    tries_again_ = error.lacks_room() && next_end <= end_of_attempts_;
  } catch (...) {
    failure_ = as_error(std::current_exception());
  }
  if (failure_ && is_repeated) return;  // the first attempt was reported; finish() throws the last failure
  if (failure_) report.failure = failure_->what();
  if (tries_again_) {
    report.failure += fmt::format("; it is tried again for up to {:.0f} s", seconds_of_attempts);
  }
  if (hooks_.on_event) return hooks_.on_event(report);
  const bool is_stopped = end_of_attempts_ > 0.0;
  warn_of_checkpoint(report, !is_stopped && !RunPosition(run_, state_.progress).done());
}

void Checkpointer::complete() {
  snapshot_.wait();
  if (!pending_) return;
  if (!writing_.valid()) write();
  writing_.wait();
  report();
}

bool Checkpointer::is_regular(std::uint64_t step) const {
  const auto& [steps, time] = options_.every;
  return time.seconds > 0.0 || step % run_.epoch.steps == 0 || (steps > 0 && step % steps == 0);
}

/// On rank 0, the newest good checkpoint before `step`. Prefers regular checkpoints (is_regular). Appends to
/// `remarks` why other checkpoints were rejected.
std::optional<Checkpoint> Checkpointer::newest_before(std::uint64_t step, std::string& remarks) const {
  const auto rejected = [&](const std::filesystem::path&, const std::string& reason) {
    remarks += (remarks.empty() ? "" : "; ") + reason;
  };
  const auto regular = [&](std::uint64_t its_step) { return its_step < step && is_regular(its_step); };
  const auto earlier = [&](std::uint64_t its_step) { return its_step < step && !is_regular(its_step); };
  auto checkpoint = newest_good_checkpoint(store_.folder(), rejected, regular);
  return checkpoint ? std::move(checkpoint) : newest_good_checkpoint(store_.folder(), rejected, earlier);
}

std::vector<std::string> Checkpointer::set_aside_later() {
  std::vector<std::string> remarks;
  session_.world().agree([&] {
    if (!writes()) return;
    const auto [checkpoints, failure] = store_.set_aside_after(last_step_);
    if (checkpoints > 0) {
      remarks.push_back(
          fmt::format("{}: checkpoints of steps after {} are now called step-*.aside: {}; each "
                      "is removed when the run has passed its step",
                      store_.folder().string(), last_step_, checkpoints));
    }
    // A later start from the newest checkpoint would not continue this run.
    if (!failure.empty()) throw Error(Category::resource, stays(failure, last_step_));
  });
  return remarks;
}

void Checkpointer::ensure_one() {
  std::array<std::byte, 1> missing{};
  session_.world().agree([&] {
    std::string ignored;
    if (writes() && !newest_before(state_.progress.step + 1, ignored)) missing[0] = std::byte{1};
  });
  if (session_.world().broadcast(missing)[0] == std::byte{1}) begin();
}

std::string Checkpointer::roll_back(std::uint64_t step, const std::string& reason) {
  complete();
  std::string remarks;
  std::filesystem::path folder;
  session_.world().agree([&] {
    if (!writes()) return;
    const auto checkpoint = newest_before(step, remarks);
    if (!checkpoint) {
      throw Error(Category::data,
                  fmt::format("step {}: {}, and {} has no good checkpoint before it{}{}", step, reason,
                              store_.folder().string(), remarks.empty() ? "" : ": ", remarks));
    }
    folder = checkpoint->folder;
    if (!remarks.empty()) remarks += "; an earlier checkpoint is used";
  });
  restore(session_, run_, folder, facts_, true, state_);  // forced, as options may have changed
  last_step_ = state_.progress.step;
  last_evaluated_ = state_.progress.evaluated;
  session_.world().agree([&] {
    if (!writes()) return;
    report_to_launcher({.step = last_step_, .checkpoint = last_step_});
    const std::string failure = store_.set_aside_after(last_step_).failure;
    if (!failure.empty()) remarks += (remarks.empty() ? "" : "; ") + stays(failure, last_step_);
  });
  return remarks;
}

void Checkpointer::finish() {
  end_of_attempts_ = steady_seconds() + seconds_of_attempts;
  complete();
  session_.world().agree([&] {
    while (tries_again_) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds_between_attempts));
      pending_ = CheckpointReport{.step = last_step_};
      write();
      writing_.wait();
      report();
    }
    end_of_attempts_ = 0.0;
    if (!failure_) return;
    throw Error(failure_->category(),
                fmt::format("the run has stopped, but its last checkpoint could not be written: {}; {}",
                            failure_->what(), last_checkpoint_in(store_.folder())));
  });
}

}  // namespace lockstep
