#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "run/sinks/progress_text.h"
#include "run/sinks/sink.h"

namespace lockstep {

/// Progress line, `epoch 3/10  step 517/2350  25974 img/s  loss 0.6412  1:23 left`; the time left is included
/// only if it is known.
std::string progress_line(const StepReport& event, double samples_per_second, double seconds_left,
                          SampleKind kind = SampleKind::image);

/// Progress line on a terminal, rewritten in place at most ten times a second. The line is cleared on
/// destruction, and before other sinks print a line, so this sink must be added first. Failures of the
/// terminal are ignored.
class ProgressSink : public Sink {
 public:
  /// Seconds of a steady clock.
  using Clock = std::function<double()>;
  ProgressSink(std::FILE* stream, Clock clock, SampleKind kind = SampleKind::image);
  ~ProgressSink() override;
  ProgressSink(const ProgressSink&) = delete;
  ProgressSink& operator=(const ProgressSink&) = delete;

  void on_event(const RunEvent& event) override;

 private:
  void show(const StepReport& event);
  void clear();

  std::FILE* stream_;
  Clock clock_;
  SampleKind kind_;
  double shown_at_;
  double step_seconds_ = 0.0;  ///< moving average
  bool visible_ = false;
};

}  // namespace lockstep
