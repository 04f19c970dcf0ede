#pragma once

#include <future>
#include <vector>

#include "comm/background_gather.h"
#include "device/device.h"
#include "lockstep/model_file.h"
#include "train/run.h"
#include "train/session/session.h"
#include "train/training_state.h"

namespace lockstep {

/// Copy of the arenas of a run at a step boundary. Each rank copies the elements that only it has up to date;
/// the copies then travel to rank 0 while the run continues. Arguments outlive the snapshot.
class Snapshot {
 public:
  /// Collective. Throws Error(resource) on all ranks if memory is short.
  Snapshot(const Session& session, const Run& run, const TrainingState& state);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  /// Copies this rank's part, and starts its transfer. Waits for the last transfer. Collective.
  void take();
  /// Advances the transfer without waiting. Returns whether this rank's part is done.
  bool poll() { return gather_.poll(); }
  void wait() { gather_.wait(); }

  /// Tensors of the copy, on rank 0, after the transfer. They refer to memory of the snapshot.
  std::vector<NamedTensor> model() const;      ///< parameters and running statistics
  std::vector<NamedTensor> optimizer() const;  ///< averages and states of the optimizer

 private:
  /// Copy of elements [first, first + elements of `data`) of an arena.
  struct Copy {
    const NamedArena* arena;
    bool everywhere;  ///< whether all elements are up to date on every rank
    std::size_t first;
    Buffer data;

    std::span<float> values() const { return data.floats(); }
  };
  bool is_first_rank() const { return session_.world().rank() == 0; }

  const Session& session_;
  const Run& run_;
  Slices slices_;  ///< elements that each rank updates; of one part: each rank has all
  std::vector<Copy> copies_;
  BackgroundGather gather_;
  std::future<void> touched_;  ///< whether the system has given pages to all copies
};

}  // namespace lockstep
