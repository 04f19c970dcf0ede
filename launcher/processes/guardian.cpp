#include "processes/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "lockstep/error.h"
#include "processes/descendants.h"

namespace lockstep::launcher {
namespace {

constexpr int not_started = 127;  // as the shell has it

/// Signals at which mpirun would kill the ranks within a second or two. They are blocked for it, and told to
/// the launcher, which lets the ranks stop.
constexpr int blocked_signals[] = {SIGTERM, SIGINT, SIGHUP};

/// Time between looks at them.
constexpr int milliseconds_between_looks = 300;

/// Looks in a row at which the command has children that have ended, after which it stands still. mpirun may
/// do so in its own end (Open MPI 4.1.4), when ranks end at the same time.
constexpr int looks_at_standstill = 17;  // 5 s

/// Message from the guardian to the launcher.
struct Message {
  enum class Type { signal, ended, stood_still };
  Type type = Type::signal;  ///< what has happened to the command
  int value = 0;             ///< signal, or status
};

/// Not the name of the launcher, so that both are not killed by name at once.
constexpr const char* process_name = "lockstep-guard";

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

int status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/// Replaces this process by the command, which the system kills when `guardian` ends.
[[noreturn]] void start_command(const Job& job, const Streams& streams, pid_t guardian, pid_t* process) {
  *process = getpid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guardian) _exit(not_started);  // it ended before
  const std::vector<char*> command = pointers(job.command);
  const std::vector<char*> environment = pointers(job.environment);
  // Duplicates first: a stream may have the number of another one's target.
  const int copies[] = {fcntl(streams.in, F_DUPFD_CLOEXEC, 3), fcntl(streams.out, F_DUPFD_CLOEXEC, 3),
                        fcntl(streams.err, F_DUPFD_CLOEXEC, 3)};
  for (int i = 0; i < 3; ++i) {
    if (copies[i] < 0) {
      close(i);  // the stream is closed, as it was for the launcher
    } else {
      dup2(copies[i], i);
    }
  }
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : blocked_signals) sigaddset(&blocked, signal);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  execve(command[0], command.data(), environment.data());
  const std::string message = "lockstep-run: error: " + job.command[0] + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  _exit(not_started);
}

/// Waits for children that have ended. Returns the status of `command` if it is among them.
std::optional<int> reap(pid_t command) {
  std::optional<int> result;
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == command) result = status_of(status);
  }
  return result;
}

/// The first of the blocked signals that wait for a process; 0: none.
int waiting_signal(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  constexpr std::string_view key = "ShdPnd:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const unsigned long long waiting = std::strtoull(line.c_str() + key.size(), nullptr, 16);
    for (const int signal : blocked_signals) {
      if ((waiting >> (signal - 1) & 1U) != 0) return signal;
    }
  }
  return 0;
}

/// Status of a command whose children had these: of one that has ended by itself with another one than 0,
/// else of one that was killed.
int status_of_children(const std::vector<int>& wait_statuses) {
  int result = 0;
  for (const int status : wait_statuses) {
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
    if (status != 0) result = status_of(status);
  }
  return result;
}

void tell(const Descriptor& link, const Message& message) {
  send(link.get(), &message, sizeof message, MSG_NOSIGNAL);
}

/// Passes signals on until the command has ended, stands still, or everything has to end. Returns what the
/// launcher is to be told.
Message watch(pid_t command, const Descriptor& link, const Descriptor& ended_children) {
  using Type = Message::Type;
  int looks = 0;
  for (bool told = false;;) {
    pollfd events[] = {{link.get(), POLLIN, 0}, {ended_children.get(), POLLIN, 0}};
    const int ready = poll(events, 2, milliseconds_between_looks);
    if (ready < 0) continue;
    if (events[1].revents != 0) {
      signalfd_siginfo info;
      [[maybe_unused]] const ssize_t taken = read(ended_children.get(), &info, sizeof info);
      if (const auto status = reap(command)) return {Type::ended, *status};
    }
    if (ready == 0) {
      const std::vector<int> neglected = neglected_children_of(command);
      looks = neglected.empty() ? 0 : looks + 1;
      if (looks == looks_at_standstill) return {Type::stood_still, status_of_children(neglected)};
    }
    if (const int signal = told ? 0 : waiting_signal(command); signal != 0) {
      tell(link, {Type::signal, signal});
      told = true;
    }
    if (events[0].revents == 0) continue;
    char signal = 0;
    const ssize_t length = recv(link.get(), &signal, 1, 0);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0 || signal == SIGKILL) return {Type::ended, 128 + SIGKILL};
    kill(command, signal);
  }
}

/// Returns when the other end is closed.
void wait_for_end(int link) {
  char byte = 0;
  ssize_t length = 0;
  do {
    length = recv(link, &byte, 1, 0);
  } while (length > 0 || (length < 0 && errno == EINTR));
}

/// Body of the guardian.
[[noreturn]] void guard(const Job& job, const Streams& streams, const Descriptor& link, pid_t* process) {
  setsid();
  prctl(PR_SET_NAME, process_name);
  adopt_descendants();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const Descriptor ended_children(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));

  const pid_t self = getpid();
  const pid_t command = fork();
  if (command == 0) start_command(job, streams, self, process);
  close(streams.in);
  close(streams.out);
  close(streams.err);

  const Message end =
      command < 0 ? Message{Message::Type::ended, not_started} : watch(command, link, ended_children);
  end_descendants({});
  tell(link, end);
  wait_for_end(link.get());
  remove_leftovers(job.name, *process, job.places);
  _exit(0);
}

}  // namespace

Guardian::Guardian(const Job& job, const Streams& streams, std::function<void(int)> on_signal)
    : job_(job), on_signal_(std::move(on_signal)), others_(children_of(getpid())) {
  adopt_descendants();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(Category::resource, std::string("cannot make a socket: ") + std::strerror(errno));
  }
  link_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  void* memory = mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(Category::resource, std::string("cannot share memory: ") + std::strerror(errno));
  }
  command_ = static_cast<pid_t*>(memory);
  process_ = fork();
  if (process_ < 0) {
    throw Error(Category::resource, std::string("cannot start a process: ") + std::strerror(errno));
  }
  if (process_ == 0) {
    link_.close();
    guard(job, streams, theirs, command_);
  }
}

Guardian::~Guardian() {
  link_.close();
  int status = 0;
  while (!is_lost_ && waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) take_over();
  if (is_lost_) remove_leftovers(job_.name, *command_, job_.places);
  munmap(command_, sizeof(pid_t));
}

void Guardian::take_over() {
  is_lost_ = true;
  end_descendants(others_);
}

void Guardian::send(int signal) const {
  const char byte = static_cast<char>(signal);
  ::send(link_.get(), &byte, 1, MSG_NOSIGNAL);
}

std::optional<int> Guardian::status() {
  while (!status_) {
    Message message;
    const ssize_t length = recv(link_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) break;
    if (length != sizeof message) {
      take_over();
      status_ = 128 + SIGKILL;
    } else if (message.type == Message::Type::signal) {
      on_signal_(message.value);
    } else {
      status_ = message.value;
      stood_still_ = message.type == Message::Type::stood_still;
    }
  }
  return status_;
}

}  // namespace lockstep::launcher
