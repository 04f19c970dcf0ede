#include "comm/world/launch.h"

#include <cstdlib>
#include <cstring>

namespace lockstep {
namespace {

using Lookup = std::function<const char*(const char*)>;

int number(const Lookup& lookup, const char* name, int otherwise) {
  const char* value = lookup(name);
  return value == nullptr || *value == '\0' ? otherwise : std::atoi(value);
}

bool has_value(const Lookup& lookup, const char* name, const char* wanted) {
  const char* value = lookup(name);
  return value != nullptr && std::strcmp(value, wanted) == 0;
}

/// Options of mpirun (Open MPI 4) that may be needed to start the same ranks again.
std::string placement_options(const Lookup& lookup) {
  std::string options;
  if (has_value(lookup, "OMPI_MCA_rmaps_base_oversubscribe", "1")) options += " --oversubscribe";
  if (has_value(lookup, "OMPI_MCA_hwloc_base_binding_policy", "none")) options += " --bind-to none";
  return options;
}

}  // namespace

Launch read_launch(const Lookup& lookup) {
  const bool managed = lookup("PMIX_RANK") != nullptr || lookup("OMPI_MCA_pmix") != nullptr;
  // The innermost launcher counts: mpirun inside a Slurm step hides the step's variables.
  if (const int size = number(lookup, "OMPI_COMM_WORLD_SIZE", 0); size > 0) {
    const int local_count = number(lookup, "OMPI_COMM_WORLD_LOCAL_SIZE", 0);
    return {.processes = size,
            .rank = number(lookup, "OMPI_COMM_WORLD_RANK", 0),
            .local_rank = number(lookup, "OMPI_COMM_WORLD_LOCAL_RANK", -1),
            .local_count = local_count,
            .known = true,
            .one_host = local_count == size,
            .starter = "mpirun" + placement_options(lookup) + " -np " + std::to_string(size),
            .variable = "OMPI_COMM_WORLD_SIZE"};
  }
  if (const int size = number(lookup, "PMI_SIZE", 0); size > 0) {
    if (size == 1 && !managed) return {};
    return {.processes = size,
            .rank = number(lookup, "PMI_RANK", 0),
            .local_rank = number(lookup, "MPI_LOCALRANKID", -1),
            .known = true,
            .managed = managed,
            .one_host = false,
            .starter = "mpiexec -n " + std::to_string(size),
            .variable = "PMI_SIZE"};
  }
  // A batch script has SLURM_NTASKS and SLURM_PROCID too; only srun sets the step's number of tasks.
  if (const int size = number(lookup, "SLURM_STEP_NUM_TASKS", 0); size > 0 && lookup("SLURM_PROCID")) {
    if (size == 1 && !managed) return {};  // srun --mpi=none, or the shell of salloc
    return {.processes = size,
            .rank = number(lookup, "SLURM_PROCID", 0),
            .local_rank = number(lookup, "SLURM_LOCALID", -1),
            .known = true,
            .managed = managed,
            .one_host = number(lookup, "SLURM_STEP_NUM_NODES", 0) == 1,
            .starter = "srun --mpi=pmix -n " + std::to_string(size),
            .variable = "SLURM_STEP_NUM_TASKS"};
  }
  const bool known = lookup("PMIX_RANK") != nullptr;
  return {.rank = number(lookup, "PMIX_RANK", 0), .known = known, .one_host = !known};
}

void set_start_options(const Launch& launch) {
  constexpr int keep = 0;
  setenv("HWLOC_HIDE_ERRORS", "2", keep);
  // mpirun of Open MPI 4.1 also passes its folder on as orte_local_tmpdir_base; ranks refuse to have both.
  if (std::getenv("OMPI_MCA_orte_tmpdir_base") != nullptr) unsetenv("OMPI_MCA_orte_local_tmpdir_base");
  if (launch.one_host) {
    setenv("OMPI_MCA_pml", "ob1", keep);
    // Open MPI 5 would read the routing table, and print errors on hosts that cannot reach themselves by it.
    setenv("OMPI_MCA_reachable", "weighted", keep);
  }
  if (!launch.known) {
    setenv("OMPI_MCA_btl", "self", keep);
    setenv("OMPI_MCA_ess_singleton_isolated", "1", keep);
    setenv("OMPI_MCA_orte_create_session_dirs", "0", keep);
    unsetenv("SLURM_NODELIST");
  }
}

}  // namespace lockstep
