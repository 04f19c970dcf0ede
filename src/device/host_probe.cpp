#include "device/host_probe.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "core/process/processors.h"
#include "core/text/split.h"

namespace lockstep {
namespace {

using Bytes = std::optional<std::uint64_t>;

/// The number after `name` in a file with lines "NAME NUMBER".
Bytes entry(const std::filesystem::path& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::uint64_t value = 0;
    if (word == name && file >> value) return value;
    file.clear();
    std::getline(file, word);
  }
  return std::nullopt;
}

/// The number in a file; none if the file is missing or contains the word "max".
Bytes number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? Bytes(value) : std::nullopt;
}

Bytes smaller(Bytes one, Bytes other) { return one && other ? std::min(*one, *other) : (one ? one : other); }

Bytes kilobytes(Bytes value) { return value ? Bytes(*value * 1024) : std::nullopt; }

/// File names that differ between versions of control groups (Linux documentation:
/// admin-guide/cgroup-v1/memory, admin-guide/cgroup-v2).
struct Version {
  const char* limit;
  const char* usage;
  const char* cached;  ///< entry of memory.stat
};
constexpr Version version_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Version version_2 = {"memory.max", "memory.current", "inactive_file"};

struct GroupFolder {
  const Version* version;
  std::filesystem::path folder;
};

/// Folders of this process's control groups and of their ancestors, from the lines "0::/PATH" (version 2) and
/// "7:cpu,memory:/PATH" (version 1, if it has `controller`) of /proc/self/cgroup. If a container sees the
/// host's /proc, the paths are the host's; folders that do not exist here have no limit.
std::vector<GroupFolder> folders_of_groups(const std::filesystem::path& root, const char* controller) {
  std::vector<GroupFolder> folders;
  const auto add = [&](const Version& version, std::filesystem::path folder, const std::string& group) {
    folders.push_back({&version, folder});
    for (const auto& name : std::filesystem::path(group).relative_path()) {
      if (name == ".." || name.empty()) break;
      folders.push_back({&version, folder /= name});
    }
  };
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string number, controllers, group;
    std::getline(fields, number, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, group);
    if (controllers.empty()) add(version_2, mount, group);
    for (const std::string& name : split(controllers, ',')) {
      if (name == controller) add(version_1, mount / controller, group);
    }
  }
  return folders;
}

/// cpu_limit of the group in `folder`, ignoring its ancestors. The files hold microseconds: cpu.max (version
/// 2) "QUOTA PERIOD" or "max PERIOD"; cpu.cfs_quota_us (version 1) the quota, or -1 for no limit.
std::optional<int> cpu_limit_of(const std::filesystem::path& folder) {
  std::int64_t quota = 0, period = 0;
  std::ifstream(folder / "cpu.max") >> quota >> period;
  std::ifstream(folder / "cpu.cfs_quota_us") >> quota;
  std::ifstream(folder / "cpu.cfs_period_us") >> period;
  if (quota <= 0 || period <= 0) return std::nullopt;
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(most, (quota - 1) / period + 1));
}

}  // namespace

Bytes available_memory(const std::filesystem::path& root) {
  Bytes available = kilobytes(entry(root / "proc/meminfo", "MemAvailable:"));
  for (const auto& [version, folder] : folders_of_groups(root, "memory")) {
    const Bytes limit = number_in(folder / version->limit);
    const Bytes usage = number_in(folder / version->usage);
    if (!limit || !usage) continue;
    const std::uint64_t cached = std::min(*usage, entry(folder / "memory.stat", version->cached).value_or(0));
    const std::uint64_t used = *usage - cached;
    available = smaller(available, *limit > used ? *limit - used : 0);
  }
  return available;
}

Bytes total_memory(const std::filesystem::path& root) {
  Bytes total = kilobytes(entry(root / "proc/meminfo", "MemTotal:"));
  for (const auto& [version, folder] : folders_of_groups(root, "memory")) {
    total = smaller(total, number_in(folder / version->limit));
  }
  return total;
}

std::optional<int> cpu_limit(const std::filesystem::path& root) {
  std::optional<int> least;
  for (const GroupFolder& group : folders_of_groups(root, "cpu")) {
    if (const auto limit = cpu_limit_of(group.folder)) least = std::min(*limit, least.value_or(*limit));
  }
  return least;
}

int available_processors() {
  const int processors = usable_processors();
  return std::min(processors, cpu_limit().value_or(processors));
}

HostProbe probe_host() {
  HostProbe found;
  found.memory_bytes = total_memory();
  found.memory_free = available_memory();
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    found.lock_limit = limit.rlim_cur;
  }
  struct statvfs shared {};
  if (statvfs("/dev/shm", &shared) == 0) {
    found.shared_bytes = std::uint64_t{shared.f_blocks} * shared.f_frsize;
    found.shared_free = std::uint64_t{shared.f_bavail} * shared.f_frsize;
  }
  return found;
}

/// /proc/net/tcp has a header line, then lines "NUMBER: ADDRESS:PORT ADDRESS:PORT STATE ..." in hexadecimal
/// digits, with the address in the processor's byte order. State 0A is LISTEN.
std::optional<bool> listens_on_loopback(std::uint16_t port, const std::filesystem::path& root) {
  std::ifstream file(root / "proc/net/tcp");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, local, peer, state;
    words >> number >> local >> peer >> state;
    const std::size_t colon = local.find(':');
    if (state != "0A" || colon == std::string::npos) continue;
    const std::string address = local.substr(0, colon);
    const bool reached = address == "0100007F" || address == "7F000001" || address == "00000000";
    if (reached && std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port) return true;
  }
  return false;
}

}  // namespace lockstep
