#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

class World;

/// Samples of a data set that could not be read during a run. Safe from any thread.
class BadSamples {
 public:
  /// `strict`: whether the first such sample ends the run.
  explicit BadSamples(bool strict) : strict_(strict) {}

  /// Adds sample `id`, which cannot be read for `reason`. Prints a warning the first time, for the first
  /// samples only; `reason` names the sample. Strict: throws Error(data) instead.
  void add(std::uint64_t id, const std::string& reason);
  /// Lets samples that cannot be read take part as zeros instead of being skipped, so that every sample keeps
  /// its place. They are then recorded for take() instead of a warning. Before the first is read.
  void keep_places() { keeps_places_ = true; }
  bool keeps_places() const { return keeps_places_; }
  /// Samples recorded on this rank since the last call, with their reasons, in ascending order.
  std::vector<std::pair<std::uint64_t, std::string>> take();
  /// Number of different samples so far.
  std::uint64_t count() const;

  /// Exchanges the samples that ranks have added since the last call, so that no rank warns of a sample that
  /// another one has named. Collective.
  void share(const World& world);

 private:
  static constexpr std::size_t max_warnings = 10;
  const bool strict_;
  bool keeps_places_ = false;
  mutable std::mutex mutex_;
  std::set<std::uint64_t> ids_;
  std::vector<std::pair<std::uint64_t, std::string>> recorded_;
  std::vector<std::uint64_t> unshared_;  ///< added on this rank since the last share()
};

}  // namespace lockstep
