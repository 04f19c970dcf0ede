#include "processes/descendants.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace lockstep::launcher {
namespace {

/// Facts about a process, according to /proc/PID/stat.
struct ProcessFacts {
  char state = '?';
  pid_t parent = 0;     ///< 0: there is no such process any more
  int wait_status = 0;  ///< as waitpid gives it, if it has ended
};

ProcessFacts facts_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});  // a name may contain anything
  const std::size_t name_end = text.rfind(')');                      // "pid (name) state parent ..."
  if (name_end == std::string::npos) return {};
  std::istringstream words(text.substr(name_end + 1));
  const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
  constexpr std::size_t exit_code = 49;
  if (fields.size() < 2) return {};
  return {.state = fields[0][0],
          .parent = std::atoi(fields[1].c_str()),
          .wait_status = fields.size() > exit_code ? std::atoi(fields[exit_code].c_str()) : 0};
}

}  // namespace

void adopt_descendants() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> result;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return result;
  while (const dirent* entry = readdir(folder)) {
    const pid_t process = std::atoi(entry->d_name);
    if (process > 0 && facts_of(process).parent == parent) result.push_back(process);
  }
  closedir(folder);
  return result;
}

std::vector<int> neglected_children_of(pid_t parent) {
  std::vector<int> result;
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  const ProcessFacts facts = facts_of(parent);
  if (facts.state == 'T' || facts.state == 't') return result;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) {
      if (const ProcessFacts ended = facts_of(child); ended.state == 'Z') result.push_back(ended.wait_status);
    }
  }
  return result;
}

// Only children are killed: nobody else waits for them, so their numbers cannot be another process's by now.
// Each one that ends leaves its own children to this process, for the next round. A child that has ended
// stays one until it is waited for, so a round without children is the end.
void end_descendants(const std::vector<pid_t>& others) {
  while (true) {
    std::vector<pid_t> children = children_of(getpid());
    std::erase_if(children, [&](pid_t child) { return std::ranges::find(others, child) != others.end(); });
    if (children.empty()) return;
    for (const pid_t child : children) kill(child, SIGKILL);
    for (const pid_t child : children) {
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
}

}  // namespace lockstep::launcher
