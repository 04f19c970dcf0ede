// Runs the commands of README.md, docs/tutorial.md and docs/deploy.md unchanged: the ```sh blocks of a page,
// in order, in one folder, on a newcomer's photographs and table. The environment shortens training;
// RecipeRuns trains to the end.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "support/photographs.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

/// Commands that cannot run here, identified by their first words, with the reason or the test that runs
/// them.
struct Elsewhere {
  const char* command;
  const char* reason;
};
const std::vector<Elsewhere> elsewhere = {
    {"git clone", "the sources are here"},
    {"launcher/quickstart.sh", "installs packages; its build and training are those of the other tests"},
    {"sbatch ", "needs Slurm: tests/slurm; gpu_commands_test.cpp has those for GPUs"},
    {"docker ", "needs Docker and a registry"},
    {"mpirun -np 2 podman", "needs the image: tests/containers"},
    {"apptainer ", "needs Apptainer"},
    {"kubectl ", "needs Kubernetes"},
    {"ssh-keygen ", "needs Kubernetes"},
    {"sky ", "needs a cloud"},
    {"cp deploy/systemd/", "changes the system"},
    {"systemctl ", "changes the system"},
    {"cmake ", "bundle_test.cpp builds the bundle"},
    {"launcher/arm64-sysroot.sh", "fetches 125 MB; tests/packages for ARM, by launcher/selftest.sh --long"},
    {"cpack ", "tests/packages"},
    {"lockstep-run --hosts", "needs several hosts"},
    {"python3 -m venv", "needs PyPI"},
    {"venv/bin/", "needs PyPI"},
};

const bool has_onnx = std::string_view(LOCKSTEP_ONNX_MISSING).empty();

/// Commands of a page: the lines of its sh blocks without comments, with lines that end in \ joined.
Words commands_of(const std::string& page) {
  Words commands;
  bool inside = false, continues = false;
  for (std::string line : lines_of(contents(LOCKSTEP_SOURCE "/" + page))) {
    if (line.starts_with("```")) inside = !inside && line == "```sh";
    if (!inside || line.starts_with("```")) continue;
    line = std::regex_replace(line, std::regex("(^| +)#.*"), "");
    const bool continued = line.ends_with('\\');
    if (continued) line.pop_back();
    if (continues) {
      commands.back() += line;
    } else if (!line.empty()) {
      commands.push_back(line);
    }
    continues = continued;
  }
  return commands;
}

/// A newcomer's home: photographs, a table, and lockstep on the PATH.
class Pages : public testing::Test {
 protected:
  Pages() {
    write_photographs(folder_, "photos");
    std::filesystem::copy(LOCKSTEP_SOURCE "/examples/data/iris/train.csv", folder_ / "iris.csv");
    std::filesystem::create_directory(folder_ / "bin");
    std::filesystem::create_symlink(LOCKSTEP_PROGRAM, folder_ / "bin/lockstep");
    std::filesystem::copy(LOCKSTEP_RUN, folder_ / "bin");
    std::filesystem::create_symlink(LOCKSTEP_SOURCE "/launcher", folder_ / "launcher");
    // Stands in for the file of torchvision parameters that a Python program would write.
    const Outcome saved = lockstep(
        0, words("train --epochs 0 --model resnet18 --dataset synthetic --synthetic-shape 3x32x32 --classes "
                 "1000 --samples 8 --run-dir none --save-model {}/resnet18.safetensors",
                 folder_));
    EXPECT_EQ(saved.status, 0) << saved.err;
  }

  void expect_that_all_commands_work(const std::string& page) {
    const Words commands = commands_of(page);
    EXPECT_GE(commands.size(), 10U);
    for (const std::string& command : commands) {
      const auto is_it = [&](const Elsewhere& other) { return command.starts_with(other.command); };
      if (std::ranges::any_of(elsewhere, is_it)) continue;
      if (!has_onnx && command.starts_with("lockstep export ")) continue;
      const std::string shell = "set -e -o pipefail; unset LOCKSTEP_RUN_DIR; cd '" + folder_.string() +
                                "'; export PATH=$PWD/bin:$PATH; " + command;
      const Outcome outcome = run({"timeout", "-k", "5", "280", "bash", "-c", shell}, short_runs(command));
      // Two of the photographs are broken; all others are predicted.
      const bool predicts = holds(outcome.err, " 2 of 302 inputs could not be read");
      EXPECT_EQ(outcome.status, predicts ? 3 : 0)
          << page << ": " << command << "\nstatus " << outcome.status << "\n"
          << outcome.out << outcome.err;
    }
  }

  /// Environment that shortens training to seconds.
  static Words short_runs(const std::string& command) {
    if (!holds(command, " train ")) return {};
    return words(holds(command, "--dataset images") ? "LOCKSTEP_EPOCHS=2 LOCKSTEP_IMAGE_SIZE=32"
                                                    : "LOCKSTEP_EPOCHS=2");
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Pages, CommandsOfReadme) { expect_that_all_commands_work("README.md"); }
TEST_F(Pages, CommandsOfTheTutorial) { expect_that_all_commands_work("docs/tutorial.md"); }
TEST_F(Pages, CommandsOfDeployment) { expect_that_all_commands_work("docs/deploy.md"); }

TEST(PagesTable, HasOnlyCommandsThatAPageShows) {
  const Words all =
      commands_of("README.md") + commands_of("docs/tutorial.md") + commands_of("docs/deploy.md");
  for (const Elsewhere& other : elsewhere) {
    const auto is_it = [&](const std::string& command) { return command.starts_with(other.command); };
    EXPECT_TRUE(std::ranges::any_of(all, is_it)) << other.command << ": " << other.reason;
  }
}

}  // namespace
}  // namespace lockstep::test
