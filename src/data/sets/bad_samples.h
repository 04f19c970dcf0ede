#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace lockstep {

class World;

/// Samples of one data set that turned out to be unreadable while a run was using them. Safe from any
/// thread.
class BadSamples {
 public:
  /// Strict: the first one ends the run.
  explicit BadSamples(bool strict) : strict_(strict) {}

  /// Notes that sample `id` cannot be read because of `reason`, which names it, and warns of it on stderr the
  /// first time, as long as there are few. Strict: throws Error(data) instead.
  void add(std::uint64_t id, const std::string& reason);
  /// Different ones so far.
  std::uint64_t count() const;

  /// Tells all ranks of those that this one has met since the last call, so that none of them warns of one
  /// that another has named. Collective.
  void share(const World& world);

 private:
  static constexpr std::size_t most_warnings = 10;
  const bool strict_;
  mutable std::mutex mutex_;
  std::set<std::uint64_t> ids_;
  std::vector<std::uint64_t> unshared_;  ///< of ids_, met on this rank
};

}  // namespace lockstep
