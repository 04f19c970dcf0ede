#include "processes/descendants.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "core/process/process.h"

namespace lockstep::launcher {

void adopt_descendants() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> shown_children_of(pid_t parent) {
  std::vector<pid_t> result;
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) result.push_back(child);
  }
  return result;
}

std::vector<int> neglected_children_of(pid_t parent) {
  std::vector<int> result;
  const auto status = status_of(parent);
  if (!status || status->is_stopped()) return result;
  for (const pid_t child : shown_children_of(parent)) {
    const auto ended = status_of(child);
    if (ended && ended->wait_status) result.push_back(*ended->wait_status);
  }
  return result;
}

// Kills only children: nobody else waits for them, so their PIDs cannot have been reused. The children of a
// child that ends become children of this process, for the next round. A child that has ended remains a child
// until it is waited for, so a round without children is the last one. No round waits for a slow child:
// meanwhile, ranks that become children of this process would see that others were killed, and report it.
void end_descendants(const std::vector<pid_t>& others) {
  while (true) {
    std::vector<pid_t> children = children_of(getpid());
    std::erase_if(children, [&](pid_t child) { return std::ranges::find(others, child) != others.end(); });
    if (children.empty()) return;
    for (const pid_t child : children) kill(child, SIGKILL);
    for (const pid_t child : children) waitpid(child, nullptr, WNOHANG);
    usleep(200);
  }
}

}  // namespace lockstep::launcher
