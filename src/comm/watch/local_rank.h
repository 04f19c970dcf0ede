#pragma once

#include <cstdint>

#include "comm/watch/job_memory.h"
#include "comm/watch/process.h"
#include "comm/watch/verdict.h"

namespace lockstep {

/// A rank of this host, as another one sees it: by the memory that it writes, and by its process.
class LocalRank {
 public:
  /// `memory` outlives this object; null: the rank has a memory that is not visible here.
  explicit LocalRank(const RankMemory* memory) : memory_(memory) {}

  /// Updates what is known of the rank, `seconds` after the last call. If `suspicious`, a rank that stands
  /// still is measured, too: whether its process is stopped, and what its threads do.
  void look(RankState& state, double seconds, bool suspicious);

  bool is_visible() const { return memory_ != nullptr; }
  /// Whether its monitor works: it was seen to do something in the last 2 s.
  bool is_alive() const;
  /// Whether it has printed an error and ends.
  bool has_failed() const;
  /// Whether it ends because of an error that all ranks know.
  bool fails_with_others() const;
  /// Whether it has started, and not ended.
  bool runs();
  /// Becomes readable when the rank ends, for poll(); negative: none.
  int descriptor() const { return process_.descriptor(); }
  void kill() const { process_.kill(); }

 private:
  double measure(RankState& state, double seconds);

  const RankMemory* memory_;
  WatchedProcess process_;
  std::uint64_t beat_ = 0, count_ = 0, calls_ = 0;
  double beat_still_ = 0.0;     ///< seconds since the beat has changed
  bool measured_ = false;       ///< whether it was, since it stands still
  double suspected_for_ = 0.0;  ///< seconds since it was measured first
  double delayed_for_ = 0.0;    ///< seconds of these in which a thread had no core
  ProcessorTime since_, last_;
};

}  // namespace lockstep
