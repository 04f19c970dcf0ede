#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// The processes of this run: owner of the MPI runtime. Ranks are renumbered so that the ranks of one host
/// are contiguous. Without mpirun it is a world of one rank. At most one World per process, but for
/// alone(); calls from the thread that made it.
class World {
 public:
  /// Starts MPI. Throws Error(resource) when MPI cannot start, Error(usage) when the launcher started more
  /// processes than MPI connected (a Slurm job whose MPI plugin does not match: N single worlds).
  World(int* argc, char*** argv);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// A world of this rank alone, which must not outlive the one it came from: to repeat here what all ranks
  /// did.
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

  /// Runs `work` on every rank and waits for all. When it throws Error on some ranks, all ranks throw: the
  /// lowest failing rank its own error, the others a PeerFailure of the same category, which is not
  /// printed. So every rank ends with the same status and one line is printed. Collective.
  void agree(const std::function<void()>& work) const;

  /// Every rank's `own`, one after the other in rank order; the same number of bytes on all ranks. For small
  /// data: needs no communicator of the steps. Collective.
  std::vector<std::byte> all_gather(std::span<const std::byte> own) const;
  /// Rank 0's bytes, on every rank; the others' `own` is ignored. For small data. Collective.
  std::vector<std::byte> broadcast(std::span<const std::byte> own) const;
  void barrier() const;

  /// Ends all ranks with `status`, at once. For an error that the others cannot know of.
  [[noreturn]] void abort(int status) const;

  struct Runtime;  ///< the MPI handles; src/comm only
  Runtime& runtime() const { return *runtime_; }

 private:
  explicit World(std::unique_ptr<Runtime> runtime);
  std::unique_ptr<Runtime> runtime_;
};

/// Body of main: makes the World, runs `body`, prints an Error as the one line
/// `lockstep: error: rank R on HOST: message` (stderr) and turns it into the exit status. An error that was
/// not agreed on ends the other ranks too.
int run_program(int argc, char** argv, const std::function<int(World&)>& body);

}  // namespace lockstep
