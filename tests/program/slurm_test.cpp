// The scripts of launcher/slurm, started as slurmd does, with stand-ins for srun, scontrol and lockstep.
// tests/slurm runs them on a real Slurm.
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

/// Stand-in for srun that prints the arguments and environment of the job step. Like the real srun, it lets
/// each rank see all GPUs unless --ntasks-per-gpu is still set. With END=signal it runs until a signal
/// arrives: it passes SIGUSR1 on to the ranks, but kills them on SIGTERM.
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

/// A job whose script Slurm copied from a source tree that has a built program.
class SlurmJob : public testing::TestWithParam<const char*> {
 protected:
  SlurmJob() {
    for (const char* name : {"tree/launcher", "spool"}) fs::create_directories(folder_ / name);
    fs::copy(scripts, folder_ / "tree/launcher/slurm");
    folder_.write_script("tree/build/release/lockstep", "exit 1");
    folder_.write_script("bin/srun", fake_srun);
    folder_.write_script(
        "bin/scontrol",
        "[ $1 = requeue ] || { echo \"JobId=7 JobState=$STATE Reason=$REASON\"; exit; }\necho "
        "\"scontrol $*\"");
  }
  /// Command of the job. A node of the job has 8 GPUs.
  Words job(const std::string& script, const Words& options, const Words& environment) const {
    const fs::path copy = folder_ / "spool/slurm_script";
    fs::copy_file(scripts + script, copy, fs::copy_options::overwrite_existing);
    const bool on_gpus = script == "train-gpu.sbatch";
    return words(
               "env --unset=LOCKSTEP_RUN_DIR -C {} PATH={}/bin:/usr/bin:/bin SLURM_SUBMIT_DIR={}/tree "
               "SLURM_JOB_ID=7 END=0 STATE=RUNNING REASON=None",
               folder_, folder_, folder_) +
           words(on_gpus ? "SLURM_GPUS_ON_NODE=8 SLURM_NTASKS_PER_GPU=1 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7"
                         : "") +
           environment + Words{"bash", copy.string()} + options;
  }
  Outcome start(const Words& options, const Words& environment = {}) const {
    return run(job(GetParam(), options, environment));
  }
  /// Arguments of the job step after "train".
  static std::string options_of(const Outcome& outcome) { return line_after(outcome.out, "srun "); }

  const TemporaryFolder folder_;
};

TEST_P(SlurmJob, PassesOptionsOn) {
  const Outcome outcome = start({"--model", "a b", "--run-dir=r"});
  EXPECT_EQ(options_of(outcome),
            "[--mpi=pmix] [-K1] [--cpu-bind=none] [" + folder_.string() +
                "/tree/build/release/lockstep] [train] [--model] [a b] [--run-dir] [r] [--resume] [auto]")
      << outcome.err;
  EXPECT_EQ(outcome.status, 0);
}

TEST_P(SlurmJob, EndsWithTheStatusOfTheRanks) {
  for (const int status : {0, 1, 2, 3, 4, 5, 70, 75, 137}) {
    const bool again = status == 5 || status >= 75;  // stopped, or a rank failed
    const Outcome outcome = start({}, {"END=" + std::to_string(status)});
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(count(outcome.out, "scontrol requeue 7\n"), again ? 1 : 0) << status << outcome.err;
    fs::remove_all(folder_ / "runs");
  }
}

TEST_P(SlurmJob, IsNotRequeuedIfARankThatWasEndedHidesAnError) {
  folder_.write_script("bin/srun",
                       "echo 'srun: error: n1: task 0: Exited with exit code 2' >&2\n"
                       "echo 'srun: error: n2: tasks 1-3: Exited with exit code 75' >&2\nexit 75");
  const Outcome outcome = start({});
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(count(outcome.out, "requeue"), 0);
}

TEST_P(SlurmJob, IsNotRequeuedAfterItWasCancelled) {
  struct Row {
    const char* state;
    const char* reason;
    bool again;
  };
  for (const auto& [state, reason, again] : {Row{"RUNNING", "None", true},
                                             {"COMPLETING", "TimeLimit", true},
                                             {"COMPLETING", "None", false},
                                             {"CANCELLED", "None", false}}) {
    const Words job = {std::string("STATE=") + state, std::string("REASON=") + reason, "END=75"};
    EXPECT_EQ(count(start({}, job).out, "scontrol requeue 7\n"), again ? 1 : 0) << state;
  }
}

TEST_P(SlurmJob, IsRequeuedOftenButNotForEver) {
  EXPECT_EQ(count(start({}, {"END=75", "SLURM_RESTART_COUNT=49"}).out, "requeue"), 1);
  EXPECT_EQ(count(start({}, {"END=75", "SLURM_RESTART_COUNT=50"}).out, "requeue"), 0);

  const Words failing = {"END=5"};
  const fs::path run = folder_ / "runs/slurm-7";
  fs::create_directories(run / "checkpoints/step-00000001");
  EXPECT_EQ(count(start({}, failing).out, "requeue"), 1);
  fs::create_directories(run / "checkpoints/step-00000002");
  EXPECT_EQ(count(start({}, failing).out, "requeue"), 1);
  const Outcome outcome = start({}, failing);
  EXPECT_EQ(outcome.status, 5);
  EXPECT_EQ(count(outcome.out, "requeue"), 0);
  EXPECT_TRUE(outcome.err.ends_with(
      "lockstep-srun: status 5; the job is not requeued: it failed twice without a new checkpoint\n"))
      << outcome.err;
}

TEST_P(SlurmJob, AdviceOnAJobThatCannotBeRequeuedCanBePasted) {
  folder_.write_script("bin/scontrol", "[ $1 != requeue ] && echo 'JobState=RUNNING Reason=None'");
  for (const auto& [directory, pasted] : {std::pair{"r", "r"}, {"a b", "a\\ b"}}) {
    const Outcome outcome = start({"--run-dir", directory}, {"END=75"});
    EXPECT_TRUE(outcome.err.ends_with(std::string(" sbatch it again with --resume ") + pasted + "\n"))
        << outcome.err;
  }
}

TEST_P(SlurmJob, ContinuesAfterRequeue) {
  EXPECT_TRUE(options_of(start({})).ends_with("[train] [--run-dir] [runs/slurm-7] [--resume] [auto]"));
  EXPECT_TRUE(options_of(start({"--run-dir", "r"})).ends_with("[train] [--run-dir] [r] [--resume] [auto]"));
  EXPECT_TRUE(options_of(start({"--resume=r"})).ends_with("[train] [--run-dir] [r] [--resume] [r]"));
  EXPECT_TRUE(options_of(start({"--run-dir", "none"})).ends_with("[train] [--run-dir] [none]"));
  EXPECT_EQ(count(start({"--run-dir=none"}, {"END=75"}).out, "requeue"), 0);
  // The job resumes from another run until its own run has a checkpoint.
  const Words options = {"--resume", "r", "--run-dir", "s"};
  EXPECT_TRUE(options_of(start(options)).ends_with("[train] [--run-dir] [s] [--resume] [r]"));
  fs::create_directories(folder_ / "s/checkpoints");
  EXPECT_TRUE(options_of(start(options)).ends_with("[train] [--run-dir] [s] [--resume] [r]"));
  fs::create_directories(folder_ / "s/checkpoints/step-00000001");
  EXPECT_TRUE(options_of(start(options)).ends_with("[train] [--run-dir] [s] [--resume] [s]"));
}

TEST_P(SlurmJob, TakesTheRunDirectoryOfAConfigurationFile) {
  folder_.write("c.cfg", "# run-dir = no\n run-dir = from file  # of all\nresume = \"r # 1\"\r\nlr = 0.2\n");
  folder_.write("other.cfg", "lr = 0.2\n");
  for (const Words& config : {Words{"--config", "c.cfg"}, Words{"--config=c.cfg"}}) {
    EXPECT_TRUE(options_of(start(config))
                    .ends_with("[train] [--config] [c.cfg] [--run-dir] [from file] [--resume] [r # 1]"));
    EXPECT_TRUE(options_of(start(config + Words{"--run-dir=s", "--resume=auto"}))
                    .ends_with("[--run-dir] [s] [--resume] [auto]"));
  }
  EXPECT_TRUE(options_of(start({}, {"LOCKSTEP_CONFIG=c.cfg", "LOCKSTEP_RUN_DIR=s"}))
                  .ends_with("[train] [--run-dir] [s] [--resume] [r # 1]"));
  EXPECT_TRUE(
      options_of(start({"--config", "other.cfg"})).ends_with("[--run-dir] [runs/slurm-7] [--resume] [auto]"));
}

TEST_P(SlurmJob, RefusesARunDirectoryWithEscapesInAConfigurationFile) {
  folder_.write("c.cfg", "run-dir = \"a \\\"q\\\" b\"\n");
  const Outcome outcome = start({"--config", "c.cfg"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(count(outcome.out, "srun"), 0) << outcome.out;
  EXPECT_TRUE(
      outcome.err.ends_with("lockstep-srun: error: c.cfg: run-dir has a backslash, which "
                            "lockstep-srun cannot read: give it as an option, --run-dir\n"))
      << outcome.err;
  EXPECT_TRUE(options_of(start({"--config", "c.cfg", "--run-dir", "s"}))
                  .ends_with("[--run-dir] [s] [--resume] [auto]"));
  folder_.write("c.cfg", "run-dir = a\\b\n");  // backslashes escape only inside quotes
  EXPECT_TRUE(options_of(start({"--config", "c.cfg"})).ends_with("[--run-dir] [a\\b] [--resume] [auto]"));
}

TEST_P(SlurmJob, OwnOptionsMayHaveAnEqualsSign) {
  const Words command = {"--max-requeues=0", "--program=env lockstep", "--mem=8G", "train", "--lr=1"};
  const Outcome outcome = run(job("lockstep-srun", command, {"END=75"}));
  EXPECT_TRUE(options_of(outcome).starts_with(
      "[--mem=8G] [--mpi=pmix] [-K1] [--cpu-bind=none] [env] [lockstep] [train] [--lr=1] "))
      << outcome.err;
  EXPECT_EQ(count(outcome.out, "requeue"), 0) << outcome.err;
}

TEST_P(SlurmJob, PassesSignalsOn) {
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

INSTANTIATE_TEST_SUITE_P(Of, SlurmJob,
                         testing::Values("train.sbatch", "train-gpu.sbatch", "preemptible.sbatch"),
                         [](const auto& instance) {
                           const std::string name = instance.param;
                           return std::string(name == "train.sbatch"       ? "Nodes"
                                              : name == "train-gpu.sbatch" ? "Gpus"
                                                                           : "Preemptible");
                         });

class SlurmGpuJob : public SlurmJob {};

TEST_P(SlurmGpuJob, HasARankForEachGpuAndShowsItAllOfThem) {
  const std::string out = start({}).out;
  EXPECT_EQ(line_after(out, "tasks per node: "), "8, device: cuda");
  EXPECT_EQ(line_after(out, "visible: "), "0,1,2,3,4,5,6,7");
  EXPECT_EQ(line_after(start({}, {"LOCKSTEP_DEVICE=auto"}).out, "tasks per node: "), "8, device: auto");
}

INSTANTIATE_TEST_SUITE_P(Of, SlurmGpuJob, testing::Values("train-gpu.sbatch"),
                         [](const auto& /*instance*/) { return "Gpus"; });

/// All scripts have the same options for resuming a run.
TEST(SlurmOptions, DifferInRanksOnly) {
  for (const char* name :
       {"train.sbatch", "train-gpu.sbatch", "preemptible.sbatch", "array.sbatch", "apptainer.sbatch"}) {
    std::set<std::string> found;
    std::ifstream script(scripts + name);
    for (std::string line; std::getline(script, line);) {
      if (line.starts_with("#SBATCH ")) found.insert(line.substr(8));
    }
    for (const char* option : {"--requeue", "--signal=USR1@60", "--open-mode=append"}) {
      EXPECT_TRUE(found.contains(option)) << name << ": " << option;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
