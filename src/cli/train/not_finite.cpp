#include "cli/train/not_finite.h"

#include <fmt/format.h>

#include <string>

#include "core/files/atomic_file.h"
#include "core/json/json.h"
#include "core/text/message.h"
#include "core/text/printable.h"

namespace lockstep {
namespace {

constexpr std::size_t max_files = 100;

/// Text of the file. Names of samples are paths or the like, or "sample 17" in the whole data set.
std::string json_of(const NotFiniteReport& report, const Dataset& train) {
  JsonValue json = {{"step", report.step},
                    {"epoch", report.epoch},
                    {"reason", report.what()},
                    {"samples", JsonValue::array()}};
  for (const std::uint64_t id : report.samples) {
    auto& sample = json["samples"].emplace_back();
    sample = {{"number", id}, {"name", train.sample_name(id)}};
    if (train.task() == Task::classification) sample["class"] = train.label(id);
  }
  return json_text(json, 1) + "\n";
}

std::string text_of(const NotFiniteReport& report) {
  std::string text = fmt::format("step {}: {}", report.step, report.what());
  if (report.handling == OnNan::skip) text += ": skipped, and the run continues";
  if (report.handling == OnNan::rollback) {
    text += fmt::format(": back to the checkpoint of step {}; the run continues with step {}",
                        report.back_to_step, report.step + 1);
  }
  return text;
}

}  // namespace

void report_not_finite(const NotFiniteReport& report, const Dataset& train, const RunFolder& run,
                       Recorder& recorder) {
  std::string text = text_of(report);
  bool prints = true;
  if (!run.path().empty() && !report.samples.empty()) {
    recorder.attempt([&] {
      const std::size_t files = run.not_finite_files();
      prints = files < max_files || report.handling != OnNan::skip;
      if (files >= max_files) return;
      write_text_file(run.not_finite(report.step), json_of(report, train));
      text += fmt::format("; its {}: {}", counted(report.samples.size(), "sample"),
                          run.not_finite(report.step).string());
      if (files + 1 == max_files) {
        text +=
            fmt::format("; that is file {} of this kind: later steps are in metrics.jsonl only", max_files);
      }
    });
  }
  print_warning(report.remark);
  if (prints) print_warning(text);
}

}  // namespace lockstep
