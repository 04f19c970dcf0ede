#include "core/process/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace lockstep {
namespace {

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

/// Contents of a file of /proc, cut off at 4 KB; empty if it cannot be read.
std::string read_proc(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t length = file.get() < 0 ? 0 : read(file.get(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// Word `number` of `text`, counted from 0.
std::string_view word(std::string_view text, int number) {
  for (; number > 0; --number) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return {};
    text.remove_prefix(space + 1);
  }
  return text.substr(0, text.find_first_of(" \n"));
}

std::uint64_t number(std::string_view text) { return std::strtoull(std::string(text).c_str(), nullptr, 10); }

/// Name of the program that a process runs, cut off at 15 characters; empty: unknown.
std::string name_of(std::int64_t process) {
  std::string name = read_proc(fmt::format("/proc/{}/comm", process));
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

/// Whether `name` is mpirun or its daemon. Debian's names may end with .openmpi.
bool is_open_mpi(std::string_view name) {
  constexpr std::string_view end = ".openmpi";
  if (name.ends_with(end)) name.remove_suffix(end.size());
  constexpr std::array<std::string_view, 6> names{"mpirun", "mpiexec", "orterun",
                                                  "orted",  "prterun", "prted"};
  return std::ranges::find(names, name) != names.end();
}

#ifdef SYS_pidfd_open
int open_process(std::int64_t process) {
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0));
}
#else
int open_process(std::int64_t /*process*/) { return -1; }
#endif

}  // namespace

ProcessId own_process() {
  const std::int64_t process = getpid();
  const auto status = status_of(process);
  struct stat space {};
  const bool known = stat("/proc/self/ns/pid", &space) == 0;
  return {process, status ? status->start : 0, known ? space.st_ino : 0};
}

void open_standard_streams() {
  for (int stream = 0; stream < 3; ++stream) {
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != stream) return;
  }
}

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// Combines the boot ID and the namespace's number, because network namespaces are renumbered on each boot.
std::uint64_t own_network() {
  const std::uint64_t boot = std::strtoull(read_proc("/proc/sys/kernel/random/boot_id").c_str(), nullptr,
                                           16);  // 8 digits, up to the first '-'
  struct stat network {};
  if (boot == 0 || stat("/proc/self/ns/net", &network) != 0) return 0;
  return boot << 32 ^ network.st_ino;
}

std::optional<ProcessId> own_launcher() {
  const std::int64_t parent = getppid();
  const auto status = status_of(parent);
  if (!status || !is_open_mpi(name_of(parent))) return std::nullopt;
  return ProcessId{parent, status->start, own_process().number_space};
}

bool is_below_launcher() {
  for (std::int64_t process = getppid(); process > 0;) {
    const std::string name = name_of(process);
    if (is_open_mpi(name) || name == "hydra_pmi_proxy" || name == "slurmstepd" || name == "flux-shell")
      return true;
    const auto status = status_of(process);
    process = status ? status->parent : 0;
  }
  return false;
}

std::optional<ProcessStatus> status_of(std::int64_t process) {
  // For this process, reads the file of its first thread: qemu emulates the process's file, with a start time
  // other than the one that other processes see.
  const char* file = process == getpid() ? "/proc/self/task/{}/stat" : "/proc/{}/stat";
  const std::string text = read_proc(fmt::format(fmt::runtime(file), process));
  const std::size_t name_end = text.rfind(") ");  // "pid (name) state ..."
  if (name_end == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(name_end + 2);
  ProcessStatus status{.state = rest.empty() ? '?' : rest[0],
                       .parent = static_cast<std::int64_t>(number(word(rest, 1))),
                       .start = number(word(rest, 19))};
  const std::string_view exit_code = word(rest, 49);
  if (status.has_ended() && !exit_code.empty()) status.wait_status = static_cast<int>(number(exit_code));
  return status;
}

std::vector<pid_t> children_of(std::int64_t parent) {
  std::vector<pid_t> children;
  const Folder processes(opendir("/proc"), closedir);
  if (processes == nullptr) return children;
  while (const dirent* entry = readdir(processes.get())) {
    const auto process = static_cast<pid_t>(number(entry->d_name));
    if (process == 0) continue;  // not a process
    const auto status = status_of(process);
    if (status && status->parent == parent) children.push_back(process);
  }
  return children;
}

std::uint64_t pending_signals_of(std::int64_t process) {
  constexpr std::string_view key = "\nShdPnd:";
  const std::string text = read_proc(fmt::format("/proc/{}/status", process));
  const std::size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + key.size(), nullptr, 16);
}

int exit_status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

std::string describe_end(std::optional<int> wait_status) {
  if (!wait_status) return "exited for an unknown reason";
  if (WIFSIGNALED(*wait_status)) {
    const int signal = WTERMSIG(*wait_status);
    return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("has ended with status {}", WEXITSTATUS(*wait_status));
}

ProcessorTime processor_time_of(std::int64_t process) {
  ProcessorTime time;
  const std::string folder = fmt::format("/proc/{}/task", process);
  const Folder tasks(opendir(folder.c_str()), closedir);
  if (tasks == nullptr) return time;
  while (const dirent* task = readdir(tasks.get())) {
    if (task->d_name[0] == '.') continue;
    const std::string text = read_proc(fmt::format("{}/{}/schedstat", folder, task->d_name));
    time.used += 1e-9 * static_cast<double>(number(word(text, 0)));
    time.delays[std::atoll(task->d_name)] = 1e-9 * static_cast<double>(number(word(text, 1)));
  }
  return time;
}

double delay_between(const ProcessorTime& before, const ProcessorTime& after) {
  double largest = 0.0;
  for (const auto& [thread, delay] : after.delays) {
    const auto earlier = before.delays.find(thread);
    largest = std::max(largest, delay - (earlier == before.delays.end() ? 0.0 : earlier->second));
  }
  return largest;
}

WatchedProcess::WatchedProcess(ProcessId id)
    : id_(id), visible_(id.number != 0 && id.number_space == own_process().number_space) {
  if (!visible_) return;
  descriptor_ = FileDescriptor(open_process(id.number));
  const auto status = status_of(id.number);  // after opening: the number may now belong to another process
  ended_ = !status || status->start != id.start;
}

bool WatchedProcess::has_ended() {
  if (ended_ || !visible_) return ended_;
  pollfd poller{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};
  if (descriptor_.get() >= 0 && poll(&poller, 1, 0) == 0) return false;
  const auto status = status_of(id_.number);
  const bool there = status && status->start == id_.start;
  if (there) wait_status_ = status->wait_status;
  ended_ = descriptor_.get() >= 0 || !there || status->has_ended();
  return ended_;
}

void WatchedProcess::kill() const {
  if (!visible_) return;
#ifdef SYS_pidfd_send_signal
  if (descriptor_.get() >= 0) {
    syscall(SYS_pidfd_send_signal, descriptor_.get(), SIGKILL, nullptr, 0);
    return;
  }
#endif
  const auto status = status_of(id_.number);
  if (status && status->start == id_.start) ::kill(static_cast<pid_t>(id_.number), SIGKILL);
}

void WatchedProcess::kill_later(int seconds) const {
  if (descriptor_.get() < 0 || fork() != 0) return;
  // After fork in a process with threads, only async-signal-safe functions may be called. Closes descriptors
  // on which other processes wait for end of file.
  setsid();
  for (int file = 0; file < 4096; ++file) {
    if (file != descriptor_.get()) ::close(file);
  }
  pollfd poller{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};
  if (poll(&poller, 1, 1000 * seconds) == 0) kill();
  _exit(0);
}

}  // namespace lockstep
