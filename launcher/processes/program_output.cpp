#include "processes/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>

#include "core/files/file.h"
#include "core/process/process.h"
#include "core/process/signals.h"

namespace lockstep::launcher {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t max_errors = std::size_t{64} << 10;
/// Time limit for a program to end after it has closed its stdout.
constexpr milliseconds time_to_end{1000};
/// Time after which programs are slow.
constexpr milliseconds patience{5000};

/// Starts a program with these streams, in a session of its own. The system kills it when this thread ends.
/// Returns its PID; negative if it cannot be started.
pid_t spawn(const CommandWords& command, int output, int errors) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const FileDescriptor failure(ends[0]);
  FileDescriptor failure_end(ends[1]);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const sigset_t none = make_signal_set({});
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {  // allocates nothing: another thread may have held the lock of the heap
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent ended before the call of prctl
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    std::signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(words[0], words.data(), environ);
    [[maybe_unused]] const ssize_t written = write(failure_end.get(), "", 1);
    _exit(1);
  }
  failure_end = {};
  char byte = 0;
  if (process < 0 || read(failure.get(), &byte, 1) <= 0) return process;  // closed by a successful execve
  waitpid(process, nullptr, 0);
  return -1;
}

/// A running program, and its output so far.
class RunningProgram {
 public:
  explicit RunningProgram(const CommandWords& command) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0) return;
    out_ = FileDescriptor(out[0]);
    const FileDescriptor out_end(out[1]);
    if (pipe2(err, O_CLOEXEC) != 0) return;
    err_ = FileDescriptor(err[0]);
    const FileDescriptor err_end(err[1]);
    process_ = spawn(command, out_end.get(), err_end.get());
    if (process_ > 0) result_.answer = Answer::late;
  }
  ~RunningProgram() {
    if (process_ <= 0 || result_.status) return;
    kill(-process_, SIGKILL);
    waitpid(process_, nullptr, WNOHANG);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// Whether there is nothing left to wait for.
  bool is_done() const { return result_.answer != Answer::late; }
  /// Whether the program has closed its stdout, so that only its exit is awaited.
  bool is_ending() const { return !is_done() && out_.get() < 0; }
  void add_descriptors(std::vector<pollfd>& polled) const {
    for (const FileDescriptor* const end : {&out_, &err_}) {
      if (!is_done() && end->get() >= 0) polled.push_back({end->get(), POLLIN, 0});
    }
  }
  /// Reads from the program's descriptors among `polled`, and checks whether the program has ended.
  void take(const std::vector<pollfd>& polled) {
    if (is_done()) return;
    for (const pollfd& event : polled) {
      if (event.revents == 0) continue;
      if (event.fd == out_.get()) read_from(out_, result_.text, std::string::npos);
      if (event.fd == err_.get()) read_from(err_, result_.errors, max_errors);
    }
    if (!is_ending()) return;
    if (!out_ended_) out_ended_ = Clock::now();
    int wait_status = 0;
    if (waitpid(process_, &wait_status, WNOHANG) == process_) {
      result_.status = exit_status_of(wait_status);
      read_rest_of_errors();
    } else if (Clock::now() < *out_ended_ + time_to_end) {
      return;
    }
    finish(Answer::complete);
  }
  void finish(Answer answer) {
    result_.answer = answer;
    result_.ended = std::chrono::system_clock::now();
  }
  const ProgramOutput& result() const { return result_; }

 private:
  static void read_from(FileDescriptor& end, std::string& text, std::size_t most) {
    std::array<char, 4096> bytes;
    const ssize_t count = read(end.get(), bytes.data(), bytes.size());
    if (count > 0 && text.size() < most) text.append(bytes.data(), static_cast<std::size_t>(count));
    if (count == 0) end = {};
  }
  /// Reads only what has arrived, not until the pipe is closed: a process that the program has left behind,
  /// such as ssh's shared connection, may keep the pipe open.
  void read_rest_of_errors() {
    pollfd event{err_.get(), POLLIN, 0};
    while (err_.get() >= 0 && poll(&event, 1, 0) > 0) {
      read_from(err_, result_.errors, max_errors);
      event.fd = err_.get();
    }
  }

  pid_t process_ = -1;
  FileDescriptor out_, err_;
  std::optional<Clock::time_point> out_ended_;
  ProgramOutput result_;
};

}  // namespace

std::vector<ProgramOutput> read_programs(const std::vector<CommandWords>& commands, const Wait& wait) {
  const auto start = Clock::now(), end = start + wait.limit;
  std::deque<RunningProgram> programs(commands.begin(), commands.end());
  bool was_slow = wait.on_slow == nullptr;
  const auto milliseconds_until = [](Clock::time_point time) {
    return static_cast<int>(std::chrono::ceil<milliseconds>(time - Clock::now()).count());
  };
  while (!std::ranges::all_of(programs, &RunningProgram::is_done)) {
    int timeout = milliseconds_until(end);
    if (timeout <= 0) break;
    if (!was_slow) timeout = std::clamp(milliseconds_until(start + patience), 0, timeout);
    if (std::ranges::any_of(programs, &RunningProgram::is_ending)) timeout = std::min(timeout, 10);
    std::vector<pollfd> polled;
    if (wait.interrupt >= 0) polled.push_back({wait.interrupt, POLLIN, 0});
    for (const RunningProgram& program : programs) program.add_descriptors(polled);
    poll(polled.data(), polled.size(), timeout);
    const bool interrupted = wait.interrupt >= 0 && polled[0].revents != 0;
    for (RunningProgram& program : programs) {
      program.take(polled);
      if (interrupted && !program.is_done()) program.finish(Answer::interrupted);
    }
    if (!was_slow && Clock::now() >= start + patience) {
      was_slow = true;
      std::vector<std::size_t> pending;
      for (std::size_t i = 0; i < programs.size(); ++i) {
        if (!programs[i].is_done()) pending.push_back(i);
      }
      if (!pending.empty()) wait.on_slow(pending);
    }
  }
  std::vector<ProgramOutput> results;
  for (const RunningProgram& program : programs) results.push_back(program.result());
  return results;
}

ProgramOutput read_program(const CommandWords& command, const Wait& wait) {
  return read_programs({command}, wait).front();
}

}  // namespace lockstep::launcher
