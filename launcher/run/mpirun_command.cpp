#include "run/mpirun_command.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

int number_in(const fs::path& file) {
  int value = -1;
  std::ifstream(file) >> value;
  return value;
}

/// Counts pairs of package and core among the processors that are online; 0: the system does not tell.
int physical_cores() {
  std::set<std::pair<int, int>> cores;
  std::error_code error;
  for (fs::directory_iterator entry("/sys/devices/system/cpu", error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path topology = entry->path() / "topology";
    const int core = number_in(topology / "core_id");
    if (core >= 0) cores.emplace(number_in(topology / "physical_package_id"), core);
  }
  return static_cast<int>(cores.size());
}

int usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

Machine this_machine() {
  return {.cores = physical_cores(),
          .processors = usable_processors(),
          .scheduled = is_set("SLURM_JOB_ID") || is_set("PBS_JOBID") || is_set("LSB_JOBID"),
          .root = geteuid() == 0};
}

bool needs_oversubscribe(const MpirunOptions& options, const Machine& machine) {
  if (options.has({"--oversubscribe", "-oversubscribe", "--hostfile", "-hostfile", "--machinefile", "--host",
                   "-host", "-H", "--map-by"})) {
    return false;
  }
  const int ranks = options.ranks();
  return !machine.scheduled && ranks > 0 && (ranks > machine.cores || ranks > machine.processors);
}

std::vector<std::string> mpirun_command(const Start& start, const Machine& machine) {
  std::vector<std::string> words = {start.mpirun};
  const auto add = [&](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (start.quiet) add({"--quiet"});
  // lockstep assigns and pins the cores itself.
  if (!start.options.has({"--bind-to", "-bind-to"})) add({"--bind-to", "none"});
  if (needs_oversubscribe(start.options, machine)) add({"--oversubscribe"});
  for (const std::string& variable : start.variables) add({"-x", variable});
  add(start.options.words());
  add({start.program});
  add(start.command);
  return words;
}

std::string find_program(const std::string& name, const std::vector<std::string>& folders) {
  std::vector<std::string> all = folders;
  std::istringstream path(is_set("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) all.push_back(folder.empty() ? "." : folder);
  for (const std::string& folder : all) {
    const fs::path candidate = fs::path(folder) / name;
    std::error_code error;
    if (fs::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0) {
      return fs::absolute(candidate, error).string();
    }
  }
  return {};
}

}  // namespace lockstep::launcher
