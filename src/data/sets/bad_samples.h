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
  /// `strict`: whether the first sample that cannot be read ends the run.
  explicit BadSamples(bool strict) : strict_(strict) {}

  /// Adds sample `id`, which cannot be read because of `reason`; `reason` must name the sample. Prints one
  /// warning per sample, for the first samples only. If strict, throws Error(data) instead.
  void add(std::uint64_t id, const std::string& reason);
  /// Replaces samples that cannot be read by zeros instead of skipping them, so that every sample keeps its
  /// place. They are recorded for take() without a warning. Must be called before the first sample is read.
  void keep_places() { keeps_places_ = true; }
  bool keeps_places() const { return keeps_places_; }
  /// Samples recorded on this rank since the last call, with their reasons, in ascending order.
  std::vector<std::pair<std::uint64_t, std::string>> take();
  /// Number of distinct samples so far that could not be read.
  std::uint64_t count() const;

  /// Exchanges the samples that ranks have added since the last call, so that no rank repeats another rank's
  /// warning. Collective.
  void share(const World& world);

 private:
  static constexpr std::size_t max_warnings = 10;
  const bool strict_;
  bool keeps_places_ = false;
  mutable std::mutex mutex_;
  std::set<std::uint64_t> ids_;
  std::vector<std::pair<std::uint64_t, std::string>> recorded_;
  std::vector<std::uint64_t> unshared_;  ///< samples added on this rank since the last share()
};

}  // namespace lockstep
