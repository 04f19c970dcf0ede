#include "support/run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace lockstep::test {
namespace {

std::vector<char*> pointers(Words& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// First bytes of a decompressed file of Fashion-MNIST.
std::string decompressed_head(const std::string& name, std::size_t bytes) {
  const char* folder = std::getenv("FASHION_MNIST");
  const std::string path = std::string(folder != nullptr ? folder : "/usr/share/datasets/fashion-mnist");
  const Outcome outcome =
      run({"sh", "-c", "gzip -dc \"$1\" | head -c \"$2\"", "sh", path + "/" + name, std::to_string(bytes)});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size(), bytes) << path << "/" << name;
  return outcome.out;
}

/// Writes the first `count` records of an IDX file, with an adjusted header.
void write_head(const std::filesystem::path& target, const std::string& source, std::uint32_t count,
                std::size_t header, std::size_t record) {
  std::string bytes = decompressed_head(source, header + count * record);
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[4 + i] = static_cast<char>(count >> (24 - 8 * i));
  }
  std::ofstream(target, std::ios::binary) << bytes;
}

}  // namespace

Words environment_with(const Words& more) {
  static const TemporaryFolder temporary;
  Words variables = more;
  // Lets root start mpirun, which does not wait for two seconds when it ends ranks after an error. Runs keep
  // nothing in the current folder.
  variables.insert(variables.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                     "OMPI_MCA_odls_base_sigkill_timeout=0", "HWLOC_HIDE_ERRORS=2",
                                     "LOCKSTEP_RUN_DIR=none", "TMPDIR=" + temporary.string()});
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  return variables;
}

Outcome run(const Words& command, const Words& environment) {
  const TemporaryFolder folder;
  const std::string out = (folder / "out").string();
  const std::string err = (folder / "err").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);

  Words arguments = command;
  Words variables = environment_with(environment);
  pid_t process = 0;
  const int failure = posix_spawnp(&process, arguments[0].c_str(), &actions, nullptr,
                                   pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    throw std::runtime_error("cannot start " + command[0]);
  }
  int status = 0;
  rusage usage{};
  wait4(process, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(out), contents(err),
          usage.ru_maxrss};
}

Outcome lockstep(int ranks, const Words& arguments, const Words& environment) {
  return mpirun(LOCKSTEP_PROGRAM, ranks, arguments, environment);
}

Outcome mpirun(const std::string& program, int ranks, const Words& arguments, const Words& environment) {
  Words command;
  if (ranks > 0) {
    // Runs must end by themselves; the bound keeps a hang from blocking other tests.
    command = words("timeout -k 5 120 {} --oversubscribe --bind-to none -np {}", LOCKSTEP_MPIEXEC, ranks);
  }
  return run(command + Words{program} + arguments, environment);
}

void write_small_fashion_mnist(const TemporaryFolder& folder, std::uint32_t train, std::uint32_t test) {
  write_head(folder / "train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", train, 16, 784);
  write_head(folder / "train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz", train, 8, 1);
  write_head(folder / "t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", test, 16, 784);
  write_head(folder / "t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz", test, 8, 1);
}

std::string own_lines(const std::string& err) {
  std::string own;
  for (const std::string& line : lines_of(err)) {
    if (line.starts_with("lockstep")) own += line + "\n";
  }
  return own;
}

}  // namespace lockstep::test
