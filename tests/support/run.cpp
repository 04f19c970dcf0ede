#include "support/run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace lockstep::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
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

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  static const TemporaryFolder temporary;
  std::vector<std::string> variables = more;
  // Lets root start mpirun, which does not wait for two seconds when it ends ranks after an error. Runs keep
  // nothing in the current folder.
  variables.insert(variables.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                     "OMPI_MCA_odls_base_sigkill_timeout=0", "LOCKSTEP_RUN_DIR=none",
                                     "TMPDIR=" + temporary.string()});
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  return variables;
}

Outcome run(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  const TemporaryFolder folder;
  const std::string out = (folder / "out").string();
  const std::string err = (folder / "err").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);

  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = environment_with(environment);
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

Outcome lockstep(int ranks, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment) {
  return mpirun(LOCKSTEP_PROGRAM, ranks, arguments, environment);
}

Outcome mpirun(const std::string& program, int ranks, const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment) {
  std::vector<std::string> command;
  if (ranks > 0) {
    // Runs must end by themselves; the bound keeps a hang from blocking other tests.
    command = {"timeout",         "-k",        "5",    "120", LOCKSTEP_MPIEXEC,
               "--oversubscribe", "--bind-to", "none", "-np", std::to_string(ranks)};
  }
  command.emplace_back(program);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command, environment);
}

void write_small_fashion_mnist(const TemporaryFolder& folder, std::uint32_t train, std::uint32_t test) {
  write_head(folder / "train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", train, 16, 784);
  write_head(folder / "train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz", train, 8, 1);
  write_head(folder / "t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", test, 16, 784);
  write_head(folder / "t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz", test, 8, 1);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string line_after(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(start, 0) == 0) {
      return line.substr(start.size());
    }
  }
  ADD_FAILURE() << "no line starts with '" << start << "' in:\n" << text;
  return {};
}

}  // namespace lockstep::test
