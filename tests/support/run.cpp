#include "support/run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/process/process.h"
#include "support/idx_files.h"

namespace lockstep::test {
namespace {

std::vector<char*> pointers(Words& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Writes the first `count` records of a file of Fashion-MNIST, with an adjusted header.
void write_head(const TemporaryFolder& folder, const std::string& name, std::uint32_t count,
                std::size_t header, std::size_t record) {
  const char* variable = std::getenv("FASHION_MNIST");
  const std::string source = variable != nullptr ? variable : "/usr/share/datasets/fashion-mnist";
  const std::size_t size = header + count * record;
  std::string bytes =
      run(words("sh -c {} sh {}/{}.gz {}", "gzip -dc \"$1\" | head -c \"$2\"", source, name, size)).out;
  ASSERT_EQ(bytes.size(), size) << source << "/" << name;
  bytes.replace(4, 4, big_endian(count));
  folder.write(name, bytes);
}

/// Words that start a program built for another processor, from TEST_EMULATOR; usually none.
Words emulator() {
  const char* command = std::getenv("TEST_EMULATOR");
  return command != nullptr ? words(command) : Words{};
}

/// Environment of a program: `more` (NAME=VALUE), the variables that mpirun needs, a temporary folder for
/// programs of this thread only, since Open MPI may remove its own folder when another job has just begun,
/// and this process's environment.
Words environment_with(const Words& more) {
  static thread_local const TemporaryFolder temporary;
  Words variables = more;
  // Lets root start mpirun, which does not wait for two seconds when it ends ranks after an error. Runs keep
  // nothing in the current folder.
  variables.insert(variables.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                     "OMPI_MCA_odls_base_sigkill_timeout=0", "HWLOC_HIDE_ERRORS=2",
                                     "LOCKSTEP_RUN_DIR=none", "TMPDIR=" + temporary.string()});
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  return variables;
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
  std::vector<pid_t> below{process_};
  for (std::size_t i = 0; i < below.size(); ++i)
    std::ranges::copy(children_of(below[i]), std::back_inserter(below));
  std::ranges::sort(below);
  std::erase_if(below, [&](pid_t process) {
    std::error_code ended;
    return std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", ended) !=
           canonical(program);
  });
  return below;
}

pid_t Started::mpirun_without_ranks() const {
  for (const pid_t mpirun : processes_of(LOCKSTEP_MPIEXEC)) {
    const std::vector<pid_t> ranks = children_of(mpirun);
    const bool ended = std::ranges::all_of(ranks, [](pid_t rank) {
      const auto status = status_of(rank);
      return !status || status->has_ended();
    });
    if (ended && !ranks.empty()) return mpirun;
  }
  return 0;
}

Outcome Started::wait(double seconds) {
  constexpr int milliseconds_between_looks = 1000, looks_until_hung = 8;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  pid_t idle = 0;  // mpirun whose ranks have ended, and for how many looks
  int looks = 0;
  bool hung = false;
  for (bool open = true; open;) {
    const std::chrono::duration<double, std::milli> left = end - std::chrono::steady_clock::now();
    pollfd wanted{.fd = out_, .events = POLLIN, .revents = 0};
    const int ready =
        poll(&wanted, 1, static_cast<int>(std::clamp(left.count(), 0.0, 1.0 * milliseconds_between_looks)));
    if (ready == 0 && left.count() <= 0.0) {
      ADD_FAILURE() << "the program has not ended within " << seconds << " s";
      kill(-process_, SIGKILL);
      break;
    }
    if (ready == 0) {
      const pid_t before = std::exchange(idle, mpirun_without_ranks());
      looks = idle != 0 && idle == before ? looks + 1 : 0;
      if (looks == looks_until_hung) {
        hung = true;
        kill(idle, SIGKILL);
      }
      continue;
    }
    char buffer[4096];
    const ssize_t count = read(out_, buffer, sizeof buffer);
    if (count > 0) read_.append(buffer, static_cast<std::size_t>(count));
    open = count > 0;
  }
  int status = 0;
  rusage usage{};
  wait4(process_, &status, 0, &usage);
  waited_ = true;
  std::string err = contents(folder_ / "err");
  const bool crashed = err.find(LOCKSTEP_MPIEXEC "(+0x") != std::string::npos;  // a frame of its stack
  return {exit_status_of(status), read_, std::move(err), usage.ru_maxrss, hung || crashed};
}

Outcome run(const Words& command, const Words& environment) {
  return Started(command, environment).wait(3600.0);
}

Words on_ranks(int ranks, const std::string& program, const Words& arguments, const Words& mpirun_options) {
  const Words command = emulator() + Words{program} + arguments;
  if (ranks == 0) return command;
  return emulator() + words("{} --oversubscribe --bind-to none -np {}", LOCKSTEP_MPIEXEC, ranks) +
         mpirun_options + command;
}

Outcome lockstep(int ranks, const Words& arguments, const Words& environment) {
  return mpirun(LOCKSTEP_PROGRAM, ranks, arguments, environment);
}

Outcome mpirun(const std::string& program, int ranks, const Words& arguments, const Words& environment) {
  Words command = on_ranks(ranks, program, arguments);
  // Runs must end on their own; the time limit keeps a hang from blocking other tests.
  if (ranks > 0) command = words("timeout -k 5 600") + command;
  const Outcome outcome = run(command, environment);
  return outcome.mpirun_failed ? run(command, environment) : outcome;
}

void write_small_fashion_mnist(const TemporaryFolder& folder, std::uint32_t train, std::uint32_t test) {
  write_head(folder, "train-images-idx3-ubyte", train, 16, 784);
  write_head(folder, "train-labels-idx1-ubyte", train, 8, 1);
  write_head(folder, "t10k-images-idx3-ubyte", test, 16, 784);
  write_head(folder, "t10k-labels-idx1-ubyte", test, 8, 1);
}

Words record_of(const std::filesystem::path& run) {
  Words events;
  for (const std::string& line : lines_of(contents(run / "metrics.jsonl"))) {
    auto event = nlohmann::ordered_json::parse(line);
    if (event["event"] == "checkpoint") continue;
    event.erase("seconds");
    event.erase("images_per_second");
    events.push_back(event.dump());
  }
  return events;
}

}  // namespace lockstep::test
