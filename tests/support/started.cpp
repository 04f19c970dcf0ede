#include "support/started.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <sstream>
#include <stdexcept>

namespace lockstep::test {
namespace {

std::vector<char*> pointers(Words& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Parents of all processes, by their numbers.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> result;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    const std::string status = contents(entry.path() / "stat");  // "pid (name) state parent ..."
    const std::size_t name_end = status.rfind(')');
    if (name_end == std::string::npos) continue;  // has ended
    std::istringstream rest(status.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    result[std::stoi(name)] = parent;
  }
  return result;
}

}  // namespace

Started::Started(const Words& command, const Words& environment) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  out_ = ends[0];
  const std::string err = (folder_ / "err").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  Words arguments = command;
  Words variables = environment_with(environment);
  const int failure = posix_spawnp(&process_, arguments[0].c_str(), &actions, &attributes,
                                   pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failure != 0) throw std::runtime_error("cannot start " + command[0]);
}

Started::~Started() {
  if (!waited_) {
    kill(-process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  close(out_);
}

void Started::await_line(const std::string& start) {
  for (;;) {
    for (std::size_t end = read_.find('\n'); end != std::string::npos; end = read_.find('\n')) {
      const std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      if (line.starts_with(start)) return;
    }
    char buffer[4096];
    const ssize_t count = read(out_, buffer, sizeof buffer);
    if (count <= 0) {
      FAIL() << "no line starts with " << start << "; stderr:\n" << contents(folder_ / "err");
    }
    read_.append(buffer, static_cast<std::size_t>(count));
  }
}

std::vector<pid_t> Started::processes_of(const std::filesystem::path& program) const {
  const std::map<pid_t, pid_t> parent_of = parents();
  const auto is_below = [&](pid_t process) {
    for (auto at = parent_of.find(process); at != parent_of.end(); at = parent_of.find(at->second)) {
      if (at->first == process_) return true;
    }
    return false;
  };
  std::vector<pid_t> result;
  for (const auto& [process, parent] : parent_of) {
    std::error_code ended;
    const auto executable = std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", ended);
    if (!ended && executable == std::filesystem::canonical(program) && is_below(process)) {
      result.push_back(process);
    }
  }
  return result;
}

Outcome Started::wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (bool open = true; open;) {
    const std::chrono::duration<double, std::milli> left = end - std::chrono::steady_clock::now();
    pollfd wanted{.fd = out_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0.0 || poll(&wanted, 1, static_cast<int>(left.count())) == 0) {
      ADD_FAILURE() << "the program has not ended within " << seconds << " s";
      kill(-process_, SIGKILL);
      break;
    }
    char buffer[4096];
    const ssize_t count = read(out_, buffer, sizeof buffer);
    if (count > 0) read_.append(buffer, static_cast<std::size_t>(count));
    open = count > 0;
  }
  int status = 0;
  waitpid(process_, &status, 0);
  waited_ = true;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_, contents(folder_ / "err"),
          0};
}

Words lockstep_command(int ranks, const Words& arguments, const Words& mpirun_options) {
  Words command;
  if (ranks > 0) {
    command = words("{} --oversubscribe --bind-to none -np {}", LOCKSTEP_MPIEXEC, ranks) + mpirun_options;
  }
  return command + Words{LOCKSTEP_PROGRAM} + arguments;
}

}  // namespace lockstep::test
