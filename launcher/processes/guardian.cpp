#include "processes/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/process/process.h"
#include "core/process/signals.h"
#include "lockstep/error.h"
#include "processes/descendants.h"

namespace lockstep::launcher {
namespace {

constexpr int not_started = 127;  // the exit status that shells use
constexpr const char* no_process = "cannot start a process";

/// Whether mpirun would react to this signal by killing the ranks within a second or two. During training,
/// such signals are blocked for mpirun and reported to the launcher, which asks the ranks to stop. mpirun
/// passes the other signals on to the ranks.
bool is_blocked(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }

/// Time between checks of the command. Until it has a child, checks are more frequent, so that even a
/// short-lived child is seen.
constexpr int milliseconds_between_looks = 300, milliseconds_to_child = 10;

/// The command counts as hung after this many consecutive checks that find zombie children. mpirun may hang
/// at its end when ranks end at the same time (Open MPI 4.1.4). After as many checks that find no children
/// any more, the launcher is notified: mpirun may wait forever for a rank that was killed while it connected.
constexpr int checks_until_hung = 17;  // 5 s

/// The command is continued after this many consecutive checks that find it stopped. Suspending a job also
/// stops its guardian, so a suspended job is not continued.
constexpr int checks_until_continued = 7;  // 2 s

/// Message from the guardian to the launcher.
struct Message {
  enum class Type { started, signal, childless, ended, crashed, hung };
  Type type = Type::signal;  ///< what has happened to the command
  int value = 0;             ///< PID, signal, or exit status, depending on `type`
};

/// Differs from the name of the launcher, so that killing one by name spares the other.
constexpr const char* process_name = "lockstep-guard";

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Writes the error `failure`, with the reason in errno, to the descriptor `target`.
void print_failure(int target, const std::string& failure) {
  const std::string message = "lockstep-run: error: " + failure + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] const ssize_t written = write(target, message.data(), message.size());
}

/// Replaces this process by the command, which the system kills when `guardian` ends.
[[noreturn]] void start_command(const Job& job, const Streams& streams, pid_t guardian) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guardian) _exit(not_started);  // the guardian has ended
  const std::vector<char*> command = pointers(job.command);
  const std::vector<char*> environment = pointers(job.environment);
  // Duplicates all streams first: the descriptor of one may be the target of another.
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
  std::signal(SIGUSR1, SIG_DFL);  // the launcher stops ranks by it, even if the user ignores it
  sigset_t blocked = make_signal_set({});
  for (const int signal : training_signals) {
    if (is_blocked(signal)) sigaddset(&blocked, signal);
  }
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  execve(command[0], command.data(), environment.data());
  print_failure(STDERR_FILENO, job.command[0]);
  _exit(not_started);
}

/// Reaps all children that have ended. Returns how `command` ended if it was one of them.
std::optional<Message> reap(pid_t command) {
  std::optional<Message> result;
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended != command) continue;
    result =
        Message{WIFSIGNALED(status) ? Message::Type::crashed : Message::Type::ended, exit_status_of(status)};
  }
  return result;
}

/// First blocked signal that is pending for a process; 0: none. Skips ignored signals, which also stay
/// pending while they are blocked.
int waiting_signal(pid_t process) {
  const std::uint64_t pending = pending_signals_of(process);
  for (const int signal : training_signals) {
    if (is_blocked(signal) && !is_ignored(signal) && (pending >> (signal - 1) & 1U) != 0) return signal;
  }
  return 0;
}

/// Exit status of a command, derived from its children: the first exit status other than 0, else 128 + the
/// last signal that killed one.
int status_of_children(const std::vector<int>& wait_statuses) {
  int result = 0;
  for (const int status : wait_statuses) {
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
    if (status != 0) result = exit_status_of(status);
  }
  return result;
}

void send_message(const FileDescriptor& link, const Message& message) {
  send(link.get(), &message, sizeof message, MSG_NOSIGNAL);
}

/// Reports signals until the command has ended or hangs, or the whole job must end. Returns the last message
/// for the launcher.
Message watch(pid_t command, const FileDescriptor& link, const Signals& ended_children) {
  using Type = Message::Type;
  int looks = 0, stopped_looks = 0, childless_looks = 0;
  bool had_children = false;
  for (bool reported = false;;) {
    pollfd events[] = {{link.get(), POLLIN, 0}, {ended_children.descriptor(), POLLIN, 0}};
    const int ready = poll(events, 2, had_children ? milliseconds_between_looks : milliseconds_to_child);
    if (ready < 0) continue;
    if (events[1].revents != 0) {
      ended_children.take();
      if (const auto end = reap(command)) return *end;
    }
    if (ready == 0) {
      const std::vector<int> neglected = neglected_children_of(command);
      looks = neglected.empty() ? 0 : looks + 1;
      if (looks == checks_until_hung) return {Type::hung, status_of_children(neglected)};
      const bool has_children = !shown_children_of(command).empty();
      had_children = had_children || has_children;
      childless_looks = had_children && !has_children ? childless_looks + 1 : 0;
      if (childless_looks == checks_until_hung) send_message(link, {Type::childless, 0});
      const auto status = status_of(command);
      stopped_looks = status && status->state == 'T' ? stopped_looks + 1 : 0;
      if (stopped_looks == checks_until_continued) {
        kill(command, SIGCONT);
        send_message(link, {Type::signal, SIGSTOP});
      }
    }
    if (const int signal = reported ? 0 : waiting_signal(command); signal != 0) {
      send_message(link, {Type::signal, signal});
      reported = true;
    }
    if (events[0].revents == 0) continue;
    char signal = 0;
    const ssize_t length = recv(link.get(), &signal, 1, 0);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0 || signal == SIGKILL) return {Type::ended, 128 + SIGKILL};
    kill(command, signal);
    kill(command, SIGCONT);  // mpirun may be stopped
  }
}

/// Waits until the other end of `link` is closed.
void wait_for_end(int link) {
  char byte = 0;
  ssize_t length = 0;
  do {
    length = recv(link, &byte, 1, 0);
  } while (length > 0 || (length < 0 && errno == EINTR));
}

/// Runs the guardian's process.
[[noreturn]] void guard(const Job& job, const Streams& streams, const FileDescriptor& link) {
  setsid();
  prctl(PR_SET_NAME, process_name);
  adopt_descendants();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  const Signals ended_children{SIGCHLD};

  const pid_t self = getpid();
  const pid_t command = fork();
  if (command == 0) start_command(job, streams, self);
  if (command < 0) print_failure(streams.err, no_process);
  send_message(link, {Message::Type::started, command});
  close(streams.in);
  close(streams.out);
  close(streams.err);

  const Message end = command < 0 ? Message{Message::Type::ended, static_cast<int>(Category::resource)}
                                  : watch(command, link, ended_children);
  end_descendants({});
  send_message(link, end);
  wait_for_end(link.get());
  remove_leftovers(job.name, command, job.places);
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
  link_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  process_ = fork();
  if (process_ < 0) {
    throw Error(Category::resource, std::string(no_process) + ": " + std::strerror(errno));
  }
  if (process_ == 0) {
    link_ = {};
    guard(job, streams, theirs);
  }
}

Guardian::~Guardian() {
  link_ = {};
  int status = 0;
  if (!is_lost_) kill(process_, SIGCONT);
  while (!is_lost_ && waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) take_over();
  if (is_lost_) remove_leftovers(job_.name, command_, job_.places);
}

void Guardian::take_over() {
  is_lost_ = true;
  end_descendants(others_);
}

bool Guardian::continue_if_stopped() {
  if (is_lost_) return false;  // another process may have its PID now
  const auto process = status_of(process_);
  const auto now = std::chrono::steady_clock::now();
  if (!process || !process->is_stopped()) {
    stopped_.reset();
  } else if (!stopped_) {
    stopped_ = now;
  } else if (now - *stopped_ >= std::chrono::seconds(2)) {
    stopped_.reset();
    kill(process_, SIGCONT);
    return true;
  }
  return false;
}

void Guardian::send(int signal) const {
  const char byte = static_cast<char>(signal);
  ::send(link_.get(), &byte, 1, MSG_NOSIGNAL);
  kill(process_, SIGCONT);  // the guardian may be stopped, as by SIGSTOP
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
    } else if (message.type == Message::Type::started) {
      command_ = message.value;
    } else if (message.type == Message::Type::signal) {
      on_signal_(message.value);
    } else if (message.type == Message::Type::childless) {
      childless_ = true;
    } else {
      status_ = message.value;
      hung_ = message.type == Message::Type::hung;
      crashed_ = message.type == Message::Type::crashed;
    }
  }
  return status_;
}

}  // namespace lockstep::launcher
