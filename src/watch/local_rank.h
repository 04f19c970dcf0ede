#pragma once

#include <cstdint>

#include "core/process/process.h"
#include "watch/job_memory.h"
#include "watch/verdict.h"

namespace lockstep {

/// A peer on this host, observed through shared memory and /proc.
class LocalRank {
 public:
  /// `memory` must outlive this object; null: the rank has a memory that is not visible here.
  explicit LocalRank(const RankMemory* memory) : memory_(memory) {}

  /// Updates `state`, `seconds` after the last call. If `suspicious` and the rank made no progress, also
  /// checks whether its process is stopped, and whether its threads compute or wait for a core.
  void look(RankState& state, double seconds, bool suspicious);

  /// Whether the rank's monitor has shown activity in the last 2 s.
  bool is_alive() const;
  /// Why the rank is ending; Ending::no: it is not, or its memory is not visible here.
  RankMemory::Ending ending() const;
  /// Whether the rank has started and not ended.
  bool runs();
  /// Descriptor for poll() that becomes readable when the rank ends; negative: none.
  int descriptor() const { return process_.descriptor(); }
  void kill() const { process_.kill(); }

 private:
  double measure(RankState& state, double seconds);

  const RankMemory* memory_;
  WatchedProcess process_;
  std::uint64_t beat_ = 0, count_ = 0, calls_ = 0;
  double beat_still_ = 0.0;     ///< seconds since the beat last changed
  bool measured_ = false;       ///< whether its process was measured since the rank last made progress
  double suspected_for_ = 0.0;  ///< seconds since the first such measurement
  double delayed_for_ = 0.0;    ///< part of these seconds in which a thread had no core
  ProcessorTime since_, last_;
};

}  // namespace lockstep
