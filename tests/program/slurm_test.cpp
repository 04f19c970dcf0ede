// launcher/slurm: the scripts as slurmd starts them, with stand-ins for srun, scontrol and lockstep.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "support/run.h"

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;

const std::string scripts = LOCKSTEP_SOURCE "/launcher/slurm/";

/// Shows what the step gets. As Slurm's, it shows a rank one GPU only if --ntasks-per-gpu is still set. With
/// END=signal it runs until a signal comes: it passes SIGUSR1 on to the ranks, but SIGTERM makes it kill
/// them.
constexpr const char* fake_srun = R"(
printf 'srun'; printf ' [%s]' "$@"; echo
echo "tasks per node: ${SLURM_NTASKS_PER_NODE:-1}, device: ${LOCKSTEP_DEVICE:-}"
if [ -z "$SLURM_NTASKS_PER_GPU" ]; then echo "visible: $CUDA_VISIBLE_DEVICES"; fi
[ "$END" = signal ] || exit "$END"
sleep 60 & limit=$!
trap 'echo USR1; kill $limit; exit 75' USR1
trap 'echo TERM; kill $limit; exit 137' TERM
echo running
wait
)";

/// A job of a script, which Slurm copies, in a source tree with a program.
class SlurmJob : public testing::TestWithParam<const char*> {
 protected:
  SlurmJob() {
    for (const char* name : {"tree/launcher", "tree/build/release", "bin", "spool"}) {
      fs::create_directories(folder_ / name);
    }
    fs::create_directory_symlink(scripts, folder_ / "tree/launcher/slurm");
    executable("tree/build/release/lockstep", "exit 1");
    executable("bin/srun", fake_srun);
    executable("bin/scontrol", "echo \"scontrol $*\"");
  }
  void executable(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << "#!/bin/bash\n" << text << "\n";
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }
  /// Command of the job. A node of the job has 8 GPUs.
  Words job(const std::string& script, const Words& options, const Words& environment) const {
    const fs::path copy = folder_ / "spool/slurm_script";
    fs::copy_file(scripts + script, copy, fs::copy_options::overwrite_existing);
    const bool on_gpus = script == "train-gpu.sbatch";
    return words(
               "env --unset=LOCKSTEP_RUN_DIR -C {} PATH={}/bin:/usr/bin:/bin SLURM_SUBMIT_DIR={}/tree "
               "SLURM_JOB_ID=7 END=0",
               folder_, folder_, folder_) +
           words(on_gpus ? "SLURM_GPUS_ON_NODE=8 SLURM_NTASKS_PER_GPU=1 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7"
                         : "") +
           environment + Words{"bash", copy.string()} + options;
  }
  Outcome start(const Words& options, const Words& environment = {}) const {
    return run(job(GetParam(), options, environment));
  }
  /// The step's words after "train".
  static std::string options_of(const Outcome& outcome) { return line_after(outcome.out, "srun "); }

  const TemporaryFolder folder_;
};

TEST_P(SlurmJob, PassesOptionsOn) {
  const Outcome outcome = start({"--model", "a b", "--run-dir=r"});
  EXPECT_EQ(options_of(outcome), "[--mpi=pmix] [-K1] [--cpu-bind=none] [" + folder_.string() +
                                     "/tree/build/release/lockstep] [train] [--model] [a b] [--run-dir=r]")
      << outcome.err;
  EXPECT_EQ(outcome.status, 0);
}

TEST_P(SlurmJob, EndsWithTheStatusOfTheRanks) {
  EXPECT_EQ(start({}, {"END=4"}).status, 4);
  const Outcome stopped = start({}, {"END=75"});  // by --max-time
  EXPECT_EQ(stopped.status, 75);
  EXPECT_EQ(count(stopped.out, "scontrol"), 0);
}

TEST_P(SlurmJob, ContinuesAfterRequeue) {
  EXPECT_TRUE(options_of(start({})).ends_with("[train] [--run-dir] [runs/slurm-7]"));
  const std::vector<std::string> again = {"SLURM_RESTART_COUNT=1"};
  EXPECT_TRUE(options_of(start({}, again)).ends_with("[--run-dir] [runs/slurm-7] [--resume] [auto]"));
  EXPECT_TRUE(options_of(start({"--run-dir", "r"}, again)).ends_with("[--run-dir] [r] [--resume] [auto]"));
  EXPECT_TRUE(
      options_of(start({"--resume", "r"}, again)).ends_with("[--resume] [r] [--run-dir] [runs/slurm-7]"));
}

TEST_P(SlurmJob, IsRequeuedAtItsLimitOnly) {
  for (const int number : {SIGUSR1, SIGTERM}) {
    Started started(job(GetParam(), {}, {"END=signal"}));
    started.await_line("running");
    kill(started.process(), number);
    const Outcome outcome = started.wait();
    EXPECT_EQ(outcome.status, 75) << outcome.err;
    EXPECT_EQ(count(outcome.out, "USR1\n"), 1) << outcome.out;
    EXPECT_EQ(count(outcome.out, "scontrol requeue 7\n"), number == SIGUSR1 ? 1 : 0) << outcome.out;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, SlurmJob, testing::Values("train.sbatch", "train-gpu.sbatch"),
                         [](const auto& instance) {
                           return std::string(instance.param) == "train.sbatch" ? "Nodes" : "Gpus";
                         });

class SlurmGpuJob : public SlurmJob {};

TEST_P(SlurmGpuJob, HasARankForEachGpuAndShowsItAllOfThem) {
  const std::string out = start({}).out;
  EXPECT_EQ(line_after(out, "tasks per node: "), "8, device: cuda");
  EXPECT_EQ(line_after(out, "visible: "), "0,1,2,3,4,5,6,7");
  EXPECT_EQ(line_after(start({}, {"LOCKSTEP_DEVICE=auto"}).out, "tasks per node: "), "8, device: auto");
}

TEST_P(SlurmGpuJob, NamesTheFolderWhereItMustBeSubmitted) {
  const std::string folder = folder_.string();
  const Outcome outcome = start({}, {"SLURM_SUBMIT_DIR=" + folder});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.err, "train-gpu.sbatch: error: no " + folder +
                             "/launcher/slurm/train.sbatch: call sbatch in the folder of the source tree\n");
}

INSTANTIATE_TEST_SUITE_P(Of, SlurmGpuJob, testing::Values("train-gpu.sbatch"),
                         [](const auto& /*instance*/) { return "Gpus"; });

/// Slurm reads the options of the script that it is given, not of the one that this becomes.
TEST(SlurmOptions, DifferInRanksOnly) {
  const auto options_of = [](const char* name) {
    std::set<std::string> found;
    std::ifstream script(scripts + name);
    for (std::string line; std::getline(script, line);) {
      if (line.starts_with("#SBATCH ")) found.insert(line.substr(8));
    }
    return found;
  };
  std::set<std::string> cpu = options_of("train.sbatch");
  std::set<std::string> gpu = options_of("train-gpu.sbatch");
  for (const char* option : {"--nodes=2", "--ntasks-per-node=1", "--exclusive"})
    EXPECT_EQ(cpu.erase(option), 1);
  for (const char* option : {"--nodes=1", "--gpus-per-node=8", "--ntasks-per-gpu=1"}) {
    EXPECT_EQ(gpu.erase(option), 1) << option;
  }
  EXPECT_EQ(cpu, gpu);
  EXPECT_TRUE(cpu.contains("--requeue") && cpu.contains("--signal=B:USR1@60"));
}

}  // namespace
}  // namespace lockstep::test
