#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lockstep/period.h"
#include "run/sinks/progress_text.h"
#include "run/sinks/sink.h"

namespace lockstep {

/// Lines of a job's log, one per period: `epoch 3/10  step 517/2350  loss 0.6412  lr 0.1  25974 img/s  1:23
/// left`. The loss is the mean over the samples since the previous line; the time left includes evaluations.
/// If the period is a time, the first line follows after 10 s if the run is expected to take longer than the
/// period, so that a reader sees progress.
class LogSink : public Sink {
 public:
  /// `prefix`: beginning of each line. `write`: receives lines without a line feed. `clock`: returns seconds.
  LogSink(Period period, std::string prefix, std::function<void(std::string_view)> write,
          std::function<double()> clock, SampleKind kind = SampleKind::image);

  void on_event(const RunEvent& event) override;

 private:
  void add(const StepReport& step);
  bool due(const StepReport& step, double now) const;
  double seconds_left(const StepReport& step, double now) const;

  Period period_;
  std::string prefix_;
  std::function<void(std::string_view)> write_;
  std::function<double()> clock_;
  SampleKind kind_;
  double started_;
  std::uint64_t steps_ = 0;  ///< steps since the start
  double line_at_;           ///< time of the last line, or of the start
  bool wrote_ = false;
  std::uint64_t samples_ = 0;  ///< samples since the last line
  double loss_ = 0.0;          ///< sum over these samples
  double seconds_ = 0.0;
};

}  // namespace lockstep
