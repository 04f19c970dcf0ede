#include "processes/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "core/files/file.h"

namespace lockstep::launcher {
namespace {

/// Starts a program whose stdout is `output`. Returns its process; negative: it cannot be started.
pid_t spawn(const std::vector<std::string>& command, int output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, piped;
  sigemptyset(&none);
  sigemptyset(&piped);
  sigaddset(&piped, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &piped);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t process = -1;
  if (posix_spawn(&process, words[0], &files, &attributes, words.data(), environ) != 0) process = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return process;
}

}  // namespace

ProgramOutput read_program(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                           int interrupt) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + limit;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const FileDescriptor output(ends[0]);
  FileDescriptor input(ends[1]);
  const pid_t process = spawn(command, input.get());
  input = {};
  if (process < 0) return {};

  ProgramOutput result{.answer = Answer::late, .text = {}};
  std::array<pollfd, 2> events = {{{output.get(), POLLIN, 0}, {interrupt, POLLIN, 0}}};
  while (result.answer == Answer::late) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) break;
    if (poll(events.data(), events.size(), static_cast<int>(left)) <= 0) continue;
    if (events[1].revents != 0) {
      result.answer = Answer::interrupted;
    } else {
      std::array<char, 4096> bytes;
      const ssize_t count = read(output.get(), bytes.data(), bytes.size());
      if (count > 0) result.text.append(bytes.data(), static_cast<std::size_t>(count));
      if (count == 0) result.answer = Answer::complete;
    }
  }
  kill(process, SIGKILL);
  waitpid(process, nullptr, WNOHANG);
  return result;
}

}  // namespace lockstep::launcher
