#include "run/sinks/tensorboard_sink.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "core/text/message.h"
#include "lockstep/error.h"
#include "run/run_record.h"

namespace lockstep {
namespace {

constexpr double seconds_between_writes = 1.0;

bool is_rollback(const RunEvent& event) {
  const auto* not_finite = std::get_if<NotFiniteReport>(&event);
  return not_finite != nullptr && not_finite->handling == OnNan::rollback;
}

}  // namespace

TensorBoardSink::TensorBoardSink(const std::filesystem::path& run, std::uint64_t log_interval)
    : folder_(run), log_interval_(log_interval), file_(begin_file()), flushed_at_(steady_seconds()) {}

tensorboard::EventFile TensorBoardSink::begin_file() const {
  return {folder_.tensorboard(), read_run_record(folder_), clock_seconds(CLOCK_REALTIME)};
}

void TensorBoardSink::on_event(const RunEvent& event) {
  if (!failed_) write(event);
  if (failed_ && std::holds_alternative<EndReport>(event)) file_ = begin_file();
}

void TensorBoardSink::write(const RunEvent& event) {
  const auto* step = std::get_if<StepReport>(&event);
  if (step != nullptr && step->step % log_interval_ != 0) return;
  if (is_rollback(event)) return attempt([&] { file_ = begin_file(); });
  file_.add(event, clock_seconds(CLOCK_REALTIME));
  if (step == nullptr || steady_seconds() - flushed_at_ >= seconds_between_writes) flush();
}

void TensorBoardSink::flush() {
  flushed_at_ = steady_seconds();
  if (!failed_) attempt([&] { file_.flush(); });
}

template <class Work>
void TensorBoardSink::attempt(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    failed_ = true;
    print_warning(fmt::format("{}; TensorBoard's file is written again at the end of the run", error.what()));
  }
}

}  // namespace lockstep
