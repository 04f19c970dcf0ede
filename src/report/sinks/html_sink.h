#pragma once

#include <utility>

#include "report/run_directory.h"
#include "report/sinks/sink.h"

namespace lockstep {

/// Writes report.html from metrics.jsonl at the end of the run; must be added after the MetricsSink. Throws
/// Error(resource) if it cannot be written.
class HtmlSink : public Sink {
 public:
  explicit HtmlSink(RunDirectory directory) : directory_(std::move(directory)) {}
  void on_end(const EndReport& event) override;

 private:
  RunDirectory directory_;
};

}  // namespace lockstep
