#include "processes/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "processes/descriptor.h"

namespace lockstep::launcher {
namespace {

/// Parent of a process; 0: there is no such process any more.
pid_t parent_of(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
  const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  char text[256];
  const ssize_t length = file.get() < 0 ? 0 : read(file.get(), text, sizeof text - 1);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* name_end = std::strrchr(text, ')');  // "pid (name) state parent ..."
  return name_end != nullptr && std::strlen(name_end) > 4 ? std::atoi(name_end + 4) : 0;
}

/// What /proc/PID/stat says of a process: its state, and its status as waitpid gives it if it has ended.
struct ProcessFacts {
  char state = '?';
  int wait_status = 0;
};

ProcessFacts facts_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // "pid (name) state ..."
  if (name_end == std::string::npos) return {};
  std::istringstream words(text.substr(name_end + 1));
  const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
  constexpr std::size_t exit_code = 49;
  if (fields.size() <= exit_code) return {};
  return {.state = fields[0][0], .wait_status = std::atoi(fields[exit_code].c_str())};
}

}  // namespace

void adopt_descendants() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> result;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return result;
  while (const dirent* entry = readdir(folder)) {
    const pid_t process = std::atoi(entry->d_name);
    if (process > 0 && parent_of(process) == parent) result.push_back(process);
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
