#include "run/recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "core/clock.h"
#include "run/run_folder.h"
#include "run/sinks/console_sink.h"
#include "run/sinks/html_sink.h"
#include "run/sinks/launcher_sink.h"
#include "run/sinks/log_sink.h"
#include "run/sinks/metrics_sink.h"
#include "run/sinks/progress_sink.h"
#include "run/sinks/tensorboard_sink.h"

namespace lockstep {
namespace {

bool shows_progress(const OutputOptions& options) {
  if (options.quiet || options.progress == ProgressLine::off || options.log_ranks == LogRanks::all) {
    return false;
  }
  return options.progress == ProgressLine::on || isatty(STDERR_FILENO) != 0;
}

bool writes_log(const OutputOptions& options, int rank) {
  if (options.quiet || options.log_every == Period()) return false;
  if (options.log_ranks == LogRanks::all) return true;
  return rank == 0 && !shows_progress(options) && isatty(STDERR_FILENO) == 0;
}

/// Prefix of a rank's lines in a log of several ranks.
std::string log_prefix(const OutputOptions& options, const RankPlace& place) {
  if (options.log_ranks == LogRanks::first) return "";
  return fmt::format("[rank {}/{} host {}] ", place.rank, place.ranks, place.host);
}

}  // namespace

void Recorder::add(std::unique_ptr<Sink> sink) { sinks_.push_back(std::move(sink)); }

void Recorder::for_each_sink(const std::function<void(Sink&)>& pass_on) {
  std::erase_if(
      sinks_, [&](const std::unique_ptr<Sink>& sink) { return !failures_.attempt([&] { pass_on(*sink); }); });
}

void Recorder::on_event(const RunEvent& event) {
  for_each_sink([&](Sink& sink) { sink.on_event(event); });
}

void Recorder::flush() {
  for_each_sink([](Sink& sink) { sink.flush(); });
}

Recorder make_recorder(const OutputOptions& options, const std::filesystem::path& run,
                       const RankPlace& place) {
  Recorder recorder;
  if (writes_log(options, place.rank)) {
    recorder.add(std::make_unique<LogSink>(options.log_every, log_prefix(options, place), print_message,
                                           steady_seconds, place.samples));
  }
  if (place.rank != 0) return recorder;
  // ProgressSink must come before ConsoleSink: it clears its line before ConsoleSink prints one.
  if (shows_progress(options)) {
    recorder.add(std::make_unique<ProgressSink>(stderr, steady_seconds, place.samples));
  }
  recorder.add(std::make_unique<ConsoleSink>(stdout, options.quiet, place.samples));
  recorder.add(std::make_unique<LauncherSink>());
  if (!run.empty()) {
    const auto log_interval = static_cast<std::uint64_t>(options.log_interval);
    recorder.add(std::make_unique<MetricsSink>(RunFolder(run).metrics(), log_interval));
    if (options.tensorboard) recorder.add(std::make_unique<TensorBoardSink>(run, log_interval));
    recorder.add(std::make_unique<HtmlSink>(run));
  }
  return recorder;
}

}  // namespace lockstep
