#include "run/sinks/console_sink.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/text/message.h"
#include "lockstep/error.h"
#include "run/sinks/progress_text.h"

namespace lockstep {

std::string epoch_line(const EpochReport& event, SampleKind kind) {
  const auto part = [](const char* name, const Evaluation& evaluation) {
    std::string text;
    for (const Metric& metric : metrics_of(evaluation.task)) {
      if (!metric.is_reported(name)) continue;
      const double value = evaluation.*metric.value;
      text += fmt::format("  {} {} {}", name, metric.label, std::isnan(value) ? "-" : metric_text(value));
    }
    return text;
  };
  return fmt::format("epoch {}/{}", event.epoch, event.epochs) + part("train", event.train) +
         (event.validation ? part("val", *event.validation) : "") + part("test", event.test) +
         fmt::format("  {:.2f} s  {:.0f} {}", event.seconds, event.images_per_second, speed_unit(kind));
}

std::string end_line(const EndReport& event) {
  if (event.note.empty()) return "digest " + event.digest;
  return fmt::format("digest {} ({})", event.digest, event.note);
}

void ConsoleSink::on_event(const RunEvent& event) {
  if (const auto* epoch = std::get_if<EpochReport>(&event); epoch != nullptr && !quiet_) {
    print(epoch_line(*epoch, kind_));
  }
  if (const auto* end = std::get_if<EndReport>(&event)) print(end_line(*end));
}

/// Handles a failed write; errno has the reason.
void ConsoleSink::fail() {
  const std::string reason = fmt::format("stdout: {}", std::strerror(errno));
  if (errno != EPIPE && errno != EBADF) throw Error(Category::resource, reason);
  closed_ = true;
  print_warning(reason + "; the run continues without it");
}

void ConsoleSink::flush() {
  if (!closed_ && std::fflush(stream_) != 0) fail();
}

void ConsoleSink::print(const std::string& line) {
  if (closed_) return;
  const std::string text = line + "\n";
  if (!wait_for_reader(stream_)) throw Error(Category::resource, "stdout: nobody reads it");
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) return fail();
  flush();
}

}  // namespace lockstep
