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

/// Copy of the arenas of a run at a step boundary. Each rank copies the elements that are up to date only on
/// that rank; the copies are then sent to rank 0 while the run continues. Arguments must outlive the
/// snapshot.
class Snapshot {
 public:
  /// Collective. Throws Error(resource) on all ranks if memory is short.
  Snapshot(const Session& session, const Run& run, const TrainingState& state);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  /// Waits for the previous transfer, copies this rank's part, and starts to send it. Collective.
  void take();
  /// Advances the transfer without waiting. Returns whether this rank's part is done.
  bool poll() { return gather_.poll(); }
  void wait() { gather_.wait(); }

  /// Tensors of the copy, on rank 0, after the transfer; views of the snapshot's memory.
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
  Slices slices_;  ///< elements that each rank updates; a single slice: every rank updates all
  std::vector<Copy> copies_;
  BackgroundGather gather_;
  std::future<void> touched_;  ///< done once the system has allocated the pages of all copies
};

}  // namespace lockstep
