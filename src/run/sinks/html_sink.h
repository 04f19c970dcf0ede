#pragma once

#include <filesystem>
#include <utility>

#include "run/run_folder.h"
#include "run/sinks/sink.h"

namespace lockstep {

/// Writes report.html of the run folder `run` from its metrics.jsonl at the end of the run; must be added
/// after the MetricsSink. Throws Error(resource) if the report cannot be written or metrics.jsonl is missing.
class HtmlSink : public Sink {
 public:
  explicit HtmlSink(std::filesystem::path run) : folder_(std::move(run)) {}
  void on_event(const RunEvent& event) override;

 private:
  RunFolder folder_;
};

}  // namespace lockstep
