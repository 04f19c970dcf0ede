#pragma once

#include <string>

#include "lockstep/checkpoint.h"
#include "lockstep/reports.h"

namespace lockstep {

/// Report at the end of a run.
struct EndReport {
  std::string digest;  ///< "xxh3:" and 32 hexadecimal digits
  std::string note{};  ///< remark on the digest; may be empty
};

/// Destination of a run's reports. Calls come from one thread. They may throw Error(resource) when it fails,
/// for example when the disk is full.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_step(const StepReport& /*step*/) {}
  virtual void on_epoch(const EpochReport& /*epoch*/) {}
  virtual void on_digest(const DigestReport& /*digest*/) {}
  virtual void on_straggler(const StragglerReport& /*straggler*/) {}
  virtual void on_not_finite(const NotFiniteReport& /*report*/) {}
  virtual void on_checkpoint(const CheckpointReport& /*checkpoint*/) {}
  virtual void on_end(const EndReport& /*end*/) {}
  /// Writes everything that was reported so far.
  virtual void flush() {}
};

}  // namespace lockstep
