#include "processes/leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "core/files/temporary_folder.h"
#include "core/whole_number.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

/// Removes the last part of a name, "a.b.c" -> "c", and returns it.
std::string_view take_last(std::string_view& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = name.substr(dot + 1);
  name = name.substr(0, dot);
  return last;
}

/// Folders in which the mpiruns of this user have their session folders; usually one.
std::vector<fs::path> session_parents(const fs::path& temporary) {
  std::vector<fs::path> result;
  const std::string end = "." + std::to_string(geteuid());
  std::error_code error;
  for (fs::directory_iterator entry(temporary, error), none; !error && entry != none;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("ompi.") && name.ends_with(end)) result.push_back(entry->path());
  }
  return result;
}

/// Open MPI's number for the family of a session's jobs, from its file contact.txt, which begins with the
/// number of mpirun's own job. mpirun writes this file before it starts ranks, and removes it after their
/// segments in shared memory.
std::optional<unsigned> family_of(const fs::path& session) {
  std::ifstream file(session / "contact.txt");
  unsigned job = 0;
  if (file >> job) return job >> 16U;
  return std::nullopt;
}

}  // namespace

Places places_of_jobs() {
  const char* chosen = std::getenv("OMPI_MCA_orte_tmpdir_base");
  return {.temporary = chosen != nullptr ? fs::path(chosen) : temporary_folder(),
          .shared_memory = "/dev/shm"};
}

bool is_segment_of(std::string_view file, unsigned family) {
  int parts_behind = 1;
  if (file.starts_with("osc_sm.")) {
    parts_behind = 2;
  } else if (!file.starts_with("vader_segment.") && !file.starts_with("osc_rdma.")) {
    return false;
  }
  for (int i = 0; i < parts_behind; ++i) take_last(file);
  const std::optional<unsigned> job = whole_number<unsigned>(take_last(file), 16);
  return job && *job >> 16U == family;
}

void remove_leftovers(const std::string& job, pid_t process, const Places& places) {
  std::set<unsigned> families;
  const std::vector<fs::path> parents = session_parents(places.temporary);
  const std::string name = "pid." + std::to_string(process);
  for (const fs::path& parent : parents) {
    if (const auto family = family_of(parent / name)) families.insert(*family);
  }
  // Open MPI 5 has no common parent: prterun.HOST.PID.UID. PMIx 5, also with Open MPI 4, has
  // pmix-gds-shmem.*.PID.
  const std::string pid_end = "." + std::to_string(process);
  const std::string session_end = pid_end + "." + std::to_string(geteuid());
  const auto is_left = [&](const std::string& file) {
    if (file.starts_with("lockstep-") && file.find(job) != std::string::npos) return true;
    if (file.starts_with("prterun.") && file.ends_with(session_end)) return true;
    if (file.starts_with("pmix-gds-shmem") && file.ends_with(pid_end)) return true;
    return std::ranges::any_of(families, [&](unsigned family) { return is_segment_of(file, family); });
  };
  std::error_code error;
  for (const fs::path& place : {places.shared_memory, places.temporary}) {
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code ignored;
      if (is_left(entry->path().filename().string())) fs::remove_all(entry->path(), ignored);
    }
  }
  for (const fs::path& parent : parents) {
    fs::remove_all(parent / name, error);
    // Also if there is no session: mpirun may have been killed after it had made only the parent. Fails if
    // another mpirun has a session there.
    fs::remove(parent, error);
  }
}

}  // namespace lockstep::launcher
