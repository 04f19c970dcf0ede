#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// The processes of this run; owns the MPI runtime. Ranks are renumbered so that ranks of one host are
/// contiguous. Without mpirun there is one rank. A process has one World, except for alone(). Call methods on
/// the thread that constructed the World.
class World {
 public:
  /// Starts MPI, after opening /dev/null for each standard stream that is closed. Throws Error(resource) if
  /// MPI cannot start; Error(usage) if MPI was started before, by another World or the program, or if the
  /// launcher started more processes than MPI connected (as in a Slurm job whose MPI plugin does not match).
  World(int* argc, char*** argv);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// World of this rank alone, to repeat locally what all ranks did. Must not outlive this world.
  World alone() const;

  int rank() const;
  int size() const;
  int local_rank() const;  ///< position among the ranks of this host
  int local_size() const;  ///< ranks on this host
  int hosts() const;
  /// Rank numbers of the first rank of every host, ascending, then size(): hosts() + 1 entries.
  const std::vector<int>& host_boundaries() const;
  const std::string& host() const;  ///< this host's name
  std::string library() const;      ///< name and version of the MPI library

  /// Runs `work` on every rank and waits for all. If it throws Error on some ranks, all ranks throw: the
  /// lowest failing rank its own error, the others a PeerFailure of the same category, which is not printed,
  /// so that one line is printed and every rank ends with the same status. Collective.
  void agree(const std::function<void()>& work) const;

  /// Concatenates `own` of all ranks in rank order; `own` must have the same length on all ranks. For small
  /// data. Collective. Throws Error(resource) if a rank passes 2 GiB or more.
  std::vector<std::byte> all_gather(std::span<const std::byte> own) const;
  /// Returns the `own` of rank `from` on every rank. For small data. Collective. Throws Error(resource) for
  /// 2 GiB or more.
  std::vector<std::byte> broadcast(std::span<const std::byte> own, int from = 0) const;
  /// Replaces each value by its sum over all ranks, which must pass equal numbers of values. Collective.
  void sum(std::span<std::uint64_t> values) const;
  void barrier() const;

  /// Ends all ranks with `status` at once, because of an error that only this rank knows.
  [[noreturn]] void abort(int status) const;

  struct Runtime;  ///< the MPI handles; src/comm only
  Runtime& runtime() const { return *runtime_; }

 private:
  explicit World(std::unique_ptr<Runtime> runtime);
  std::unique_ptr<Runtime> runtime_;
};

/// Body of main: constructs the World and runs `body`. Prints an Error to stderr as one line,
/// `lockstep: error: rank R on HOST: message`, and returns its exit status. An error not thrown by agree()
/// ends the other ranks, too.
int run_program(int argc, char** argv, const std::function<int(World&)>& body);

}  // namespace lockstep
