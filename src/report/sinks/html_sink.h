#pragma once

#include <utility>

#include "report/run_directory.h"
#include "report/sinks/sink.h"

namespace lockstep {

/// Writes report.html from metrics.jsonl when the run ends; so it goes after the MetricsSink. Throws
/// Error(resource) when it cannot be written.
class HtmlSink : public Sink {
 public:
  explicit HtmlSink(RunDirectory directory) : directory_(std::move(directory)) {}
  void on_step(const StepEvent& event) override;
  void on_epoch(const EpochEvent& event) override;
  void on_end(const EndEvent& event) override;
  void flush() override {}

 private:
  RunDirectory directory_;
};

}  // namespace lockstep
