#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/exchange.h"
#include "device/device.h"
#include "lockstep/model_file.h"
#include "train/progress.h"
#include "train/run.h"
#include "train/session/parameter_set.h"
#include "train/session/session.h"
#include "train/step/updater.h"

namespace lockstep {

/// An array with a float for each element of a network's parameters, in the memory of a device.
struct NamedArena {
  std::string name;
  Buffer data;
  std::size_t begin = 0;            ///< the element that `data` begins with
  std::size_t first = 0, last = 0;  ///< elements [first, last) are up to date on this rank after every step

  std::span<float> values() const { return data.floats(); }
};

/// Everything that a run is at a step boundary: how far it is, and its arenas. With the options of the run it
/// determines all that follows. Updates and evaluations get spans of it.
class TrainingState {
 public:
  /// First values of `run`, which outlives the state. Collective. Throws on all ranks Error(usage) for
  /// impossible options of the optimizer, Error(resource) where memory is short.
  TrainingState(const Session& session, const Run& run);

  Progress progress = {};

  /// "parameters"; "average" of averaged weights, where they are wanted; "optimizer.momentum" and the like:
  /// the elements that this rank updates.
  std::span<const NamedArena> arenas() const { return arenas_; }
  std::span<float> parameters() const { return arenas_.front().values(); }
  /// What is evaluated and saved: the averages or, where there are none, the parameters. Device's memory.
  std::span<float> results() const { return result().values(); }
  /// What a step changes, and which rank changes which elements.
  UpdatedArenas updated() const;

  /// Takes parameters from a file, on this rank. Throws Error(data).
  void load(const ModelFile& file, const LoadOptions& options);
  /// Averages begin as the parameters. Ranks may share the arenas: all have written their parameters.
  void start_averages();
  void save(const std::string& file, const std::map<std::string, std::string>& metadata) const;
  /// Of the parameters, as Trainer::digest.
  std::string digest() const;
  /// Hash of parameters and averages, gaps included.
  std::array<std::uint64_t, 2> hash() const;

 private:
  const NamedArena* average() const;
  const NamedArena& result() const { return average() != nullptr ? *average() : arenas_.front(); }

  const Run& run_;
  Slices slices_;
  std::vector<NamedArena> arenas_;
  std::vector<HostView> views_;  ///< of parameters and, where there are any, averages
};

}  // namespace lockstep
