#pragma once

#include <optional>

#include "run/sinks/sink.h"

namespace lockstep {

/// Reports the number of steps to lockstep-run, after the first step and then once per second.
class LauncherSink : public Sink {
 public:
  void on_event(const RunEvent& event) override;

 private:
  std::optional<double> reported_at_;  ///< in seconds
};

}  // namespace lockstep
