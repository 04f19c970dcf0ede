#include "core/process/processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "core/text/split.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

int first_number_in(const fs::path& file) {
  int value = -1;
  std::ifstream(file) >> value;
  return value;
}

/// Whether this process may use a processor in `list`, such as "0-3,8".
bool has_usable(const std::string& list) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return true;
  for (const std::string& range : split(list, ',')) {
    int first = 0, last = 0;
    const int read = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    for (int processor = first; read > 0 && processor <= (read == 1 ? first : last); ++processor) {
      if (CPU_ISSET(static_cast<std::size_t>(processor), &usable)) return true;
    }
  }
  return false;
}

}  // namespace

int usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

int usable_nodes() {
  int nodes = 0;
  std::error_code error;
  for (fs::directory_iterator entry("/sys/devices/system/node", error), end; !error && entry != end;
       entry.increment(error)) {
    std::string list;
    std::ifstream(entry->path() / "cpulist") >> list;
    if (entry->path().filename().string().starts_with("node") && has_usable(list)) ++nodes;
  }
  return std::max(1, nodes);
}

int usable_cores(const fs::path& folder) {
  std::set<std::pair<int, int>> cores;  // package and core
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("cpu") || !has_usable(name.substr(3))) continue;
    const fs::path topology = entry->path() / "topology";
    const int core = first_number_in(topology / "core_id");
    if (core >= 0) cores.emplace(first_number_in(topology / "physical_package_id"), core);
  }
  return static_cast<int>(cores.size());
}

}  // namespace lockstep
