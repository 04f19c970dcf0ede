#include "run/sinks/metrics_sink.h"

#include <utility>

#include "core/clock.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "lockstep/error.h"
#include "run/record_line.h"
#include "run/run_folder.h"

namespace lockstep {
namespace {

constexpr double seconds_between_flushes = 1.0;
constexpr std::size_t most_pending_bytes = 16 << 20;

}  // namespace

MetricsSink::MetricsSink(const std::filesystem::path& file, std::uint64_t log_interval)
    : path_(file), file_(file), log_interval_(log_interval), flushed_at_(steady_seconds()) {}

MetricsSink::~MetricsSink() {
  try {
    write();
  } catch (const Error&) {  // the run is already ending with another error
  }
}

void MetricsSink::on_event(const RunEvent& event) {
  if (const auto* step = std::get_if<StepReport>(&event)) {
    if (step->step % log_interval_ != 0) return;
    if (pending_.size() > most_pending_bytes) {
      ++left_out_;
    } else {
      append_line(pending_, event);
    }
    if (steady_seconds() - flushed_at_ >= seconds_between_flushes) flush();
    return;
  }
  const auto* not_finite = std::get_if<NotFiniteReport>(&event);
  if (not_finite != nullptr && not_finite->handling == OnNan::rollback) {
    cuts_.push_back({.after = pending_.size(),
                     .step = not_finite->back_to_step,
                     .epoch = not_finite->back_to_epoch,
                     .passed = not_finite->step});
  }
  append_line(pending_, event);
  if (std::holds_alternative<EndReport>(event)) {
    write();
  } else if (std::holds_alternative<EpochReport>(event) ||
             (not_finite != nullptr && not_finite->handling != OnNan::skip)) {
    flush();
  }
}

void MetricsSink::flush() {
  try {
    write();
  } catch (const Error& error) {
    if (!std::exchange(failing_, true)) {
      print_warning(fmt::format("{}; the record waits in memory until it can be written", error.what()));
    }
  }
}

void MetricsSink::write() {
  flushed_at_ = steady_seconds();
  if (pending_.size() == 0) return;
  for (; !cuts_.empty(); cuts_.erase(cuts_.begin())) {
    const Cut& cut = cuts_.front();
    append_until(cut.after);
    RunFolder(path_.parent_path()).cut_record(cut.step, cut.epoch, cut.passed);
    file_ = LineWriter(path_);  // cut_record may have replaced the file
  }
  append_until(pending_.size());
  pending_.clear();
  written_ = 0;
  if (!std::exchange(failing_, false)) return;
  const std::size_t left_out = std::exchange(left_out_, 0);
  print_message(
      fmt::format("{}: can be written again; {}", path_.string(),
                  left_out == 0 ? "the record is complete" : "it lacks " + counted(left_out, "step")));
}

void MetricsSink::append_until(std::size_t end) {
  file_.append({pending_.data() + written_, end - written_});
  written_ = end;
}

}  // namespace lockstep
