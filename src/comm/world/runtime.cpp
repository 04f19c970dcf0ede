#include "comm/world/runtime.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "comm/world/agreement.h"
#include "comm/world/start_checks.h"
#include "core/files/file.h"
#include "core/options/internal_variables.h"
#include "core/process/process.h"
#include "core/text/message.h"
#include "device/host_probe.h"

namespace lockstep {
namespace {

/// Throws an error that every rank knows of. One rank of each host prints it, or every rank if local ranks
/// are unknown.
[[noreturn]] void refuse_to_start(const Launch& launch, const std::string& reason) {
  if (launch.local_rank > 0) throw PeerFailure(Category::usage, reason);
  throw AgreedError(Category::usage, reason);
}

Launch prepare_launch() {
  open_standard_streams();  // else a pipe of MPI would get the number of a closed standard stream
  Launch launch = read_launch();
  if (mpi_was_started()) {  // MPI_Init would end the process
    refuse_to_start(launch, "MPI was started before: a process has one World, which starts and ends it");
  }
  set_start_options(launch);
  if (mpi_library().starts_with("Open MPI")) {
    const std::string warning = avoid_shared_memory(launch, probe_host().shared_free, getpid());
    if (launch.local_rank == 0 || (launch.local_rank < 0 && launch.rank == 0)) print_warning(warning);
  }
  return launch;
}

/// Refuses to start Open MPI if it cannot reach the process that started this one: Open MPI would end this
/// process with 8 lines of advice.
void check_reachable(const Launch& launch) {
  const std::string reason = why_unreachable(::getenv);
  if (!reason.empty()) refuse_to_start(launch, reason);
}

/// Refuses to run if MPI connected fewer processes than the launcher started: several of them would do the
/// same work, each as rank 0 of 1. Only the launcher's rank 0 prints the error. A process without a launcher
/// may have inherited a launcher's variables; it prints the error, whatever rank they name.
void check_connected(const Launch& launch, int connected) {
  if (connected >= launch.processes) return;
  if (launch.rank != 0 && is_below_launcher()) throw PeerFailure(Category::usage, "not connected");
  throw Error(Category::usage, "the launcher started " + std::to_string(launch.processes) +
                                   " processes but MPI connected only " + std::to_string(connected) +
                                   ": start with the mpirun of the MPI that lockstep was built with, or " +
                                   "under Slurm with srun --mpi=pmix; if no launcher started this process, " +
                                   "unset " + launch.variable);
}

/// Refuses to start Open MPI in a Slurm step without PMIx: Open MPI would end every process, with 40 lines of
/// advice on how to build it. Other MPI libraries may connect through srun's own PMI, and so may an Open MPI
/// that was built with it: OMPI_MCA_pmix=s2 allows that.
void check_managed(const Launch& launch) {
  if (!launch.managed && mpi_library().starts_with("Open MPI")) check_connected(launch, 1);
}

/// Makes Open MPI keep its shared memory segments in a folder of the job that lockstep-run names.
void use_segment_folder(const Launch& launch, std::optional<SegmentFolder>& folder) {
  constexpr int keep = 0;
  const char* const job = std::getenv(job_variable);
  if (job == nullptr || *job == '\0' || launch.processes <= 1) return;
  folder.emplace(job);
  if (folder->path().empty()) return;
  setenv("OMPI_MCA_btl_vader_backing_directory", folder->path().c_str(), keep);
  setenv("OMPI_MCA_btl_sm_backing_directory", folder->path().c_str(), keep);  // Open MPI 5
}

StartedRanks started_ranks(const Launch& launch, const std::string& host) {
  return {.host = host,
          .count = launch.processes,
          .rank = launch.rank,
          .local_rank = launch.local_rank,
          .local_count = launch.local_count};
}

std::vector<std::byte> gather_bytes(const MpiGroup& group, std::span<const std::byte> own) {
  std::vector<std::byte> all(own.size() * static_cast<std::size_t>(group.size()));
  const int bytes = static_cast<int>(own.size());
  check_mpi(MPI_Allgather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, group.get()),
            "MPI_Allgather");
  return all;
}

std::string name_for_messages() {
  const std::string name = host_name();
  return name.empty() ? "unknown host" : name;
}

}  // namespace

RanksByHost number_by_host(MPI_Comm all, const MpiGroup& host) {
  int old_rank = 0;
  check_mpi(MPI_Comm_rank(all, &old_rank), "MPI_Comm_rank");
  int lowest = old_rank;
  check_mpi(MPI_Bcast(&lowest, 1, MPI_INT, 0, host.get()), "MPI_Bcast");

  RanksByHost result;
  result.world = MpiGroup::split(all, 0, lowest);
  const int size = result.world.size();
  std::vector<int> lowest_of(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(&lowest, 1, MPI_INT, lowest_of.data(), 1, MPI_INT, result.world.get()),
            "MPI_Allgather");
  for (int i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i == 0 || lowest_of[at] != lowest_of[at - 1]) result.boundaries.push_back(i);
  }
  result.boundaries.push_back(size);
  return result;
}

World::Runtime::Runtime(int* argc, char*** argv) : launch(prepare_launch()), host_name(name_for_messages()) {
  use_segment_folder(launch, segments);  // before the watch, whose thread may read variables that this sets
  watch = std::make_unique<Watch>(started_ranks(launch, host_name));
  check_managed(launch);
  check_reachable(launch);
  // Open MPI 4.1.4 opens 8 files in a lone process, and prints 30 lines if it cannot.
  if (!launch.known) reserve_open_files(8, "starting MPI");
  session.emplace(argc, argv);
  const MpiGroup all = MpiGroup::duplicate(MPI_COMM_WORLD);
  check_connected(launch, all.size());
  host = MpiGroup::split_by_host(all.get());
  ranks = number_by_host(all.get(), host);
  rank = ranks.world.rank();
  size = ranks.world.size();
  local_rank = host.rank();
  watch->join({.host = host_name, .rank = rank, .boundaries = ranks.boundaries, .gather = [this](auto own) {
                 return gather_bytes(ranks.world, own);
               }});
}

World::Runtime::Runtime(std::string name)
    : host_name(std::move(name)),
      watch(std::make_unique<Watch>()),
      host(MpiGroup::duplicate(MPI_COMM_SELF)),
      ranks{MpiGroup::duplicate(MPI_COMM_SELF), {0, 1}} {}

/// Ranks wait for each other at the end of MPI.
World::Runtime::~Runtime() {
  watch->set_stage(Stage::end);
  if (session) watch->enter(Collective::finalize, Group::world);
}

}  // namespace lockstep
