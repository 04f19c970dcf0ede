// launcher/gpu-check.sh with fake programs of a machine with a GPU, with the program on the emulated GPU, and
// without a GPU.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/started.h"

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;

/// Fake program that prints the lines which the script reads. HANG, CRASH and FAIL are patterns of its
/// arguments; a run that hangs ignores SIGTERM.
constexpr const char* fake_lockstep = R"(#!/bin/bash
case "$*" in *${HANG:-none}*) trap '' TERM; while true; do sleep 0.1; done ;; esac
case "$*" in *${CRASH:-none}*) kill -SEGV $$ ;; esac
case "$*" in *${FAIL:-none}*) echo 'lockstep: error: no engine' >&2; exit 4 ;; esac
option() { sed -n "s/.*--$1 \([^ ]*\).*/\1/p" <<<"$*"; }
case "$*" in
  --version) echo lockstep 9.9 ;;
  doctor*) printf 'CUDA           13.0, 1 GPU\ncuDNN          9.19.0\nNCCL           2.28.9\n' ;;
  bench\ step*kernel-times*)
    printf 'ranks 1  threads 1\nsum 160.50 us 24.0 launches a step\n'
    printf '    100.00 us      2.0 launches  convolution forward, eng1\n     60.50 us     22.0 launches  Update Sgd\n'
    printf 'between launches 12.50 us a step\nevents 1.25 us of each launch\n' ;;
  bench\ step*)
    us=50.5; case "$*" in *resnet18*canonical*) us=2929 ;; *resnet18*) us=2900 ;; esac
    printf 'step        %s  100.0 %%\nhost        12.5 %% of a core (rank 0)\n' $us
    printf 'first step  2500 ms after the start\nmemory      200 MB at most\n5000000 img/s\n'
    echo "CUDA graph ${LOCKSTEP_CUDA_GRAPH:-not set}" ;;
  bench\ allreduce*)
    echo 'ranks 2  processor Test GPU  exchange NCCL'
    echo '46137344  100.0  1.0  200.0  2.0  0.5' ;;
  bench\ ops*) echo 'in one go    90.5 us, 95 % of the sum of 95.3 us' ;;
  train*)
    [ "${CUDA_VISIBLE_DEVICES-unset}" ] || { echo 'lockstep: error: CUDA is off: no GPU is visible' >&2; exit 4; }
    case "$*" in
      *40000*) echo 'lockstep: error: not enough GPU memory: 9 MB wanted' >&2; exit 4 ;;
      *transport*|*weights*) ;;
      *) [ ! "$SHARED" ] || { echo 'lockstep: error: ranks 0 and 1 have the same GPU' >&2; exit 4; } ;;
    esac
    directory=$(sed -n 's/.*--run-dir \([^ ]*\).*/\1/p' <<<"$*")
    if [ "$directory" ]; then
      mkdir -p "$directory"
      for step in {1..100}; do
        echo "{\"event\":\"step\",\"epoch\":1,\"step\":$step,\"loss\":2.30$step,\"learning_rate\":0.2}"
      done >"$directory/metrics.jsonl"
    fi
    echo 'epoch 10/10  train loss 0.3  train acc 0.9  test loss 0.3  test acc 0.9100  0.60 s  100000 img/s'
    digest=1; case "$*" in *${OTHER_DIGEST:-none}*) digest=2 ;; esac
    echo digest xxh3:$digest ;;
esac
)";
/// Loses entries that match LOST.
constexpr const char* losing_record = R"(#!/bin/bash
case "$*" in *${LOST:-no entry}*) echo 'no space left' >&2; exit 4 ;; esac
exec )" LOCKSTEP_RECORD R"( "$@"
)";
constexpr const char* fake_mpirun = R"(#!/bin/bash
[ "$1" != --version ] || { echo mpirun of the test; exit; }
while [ "$1" != -np ]; do shift; done
[ "$2" = 1 ] || export SHARED=1
shift 2
exec "$@"
)";
constexpr const char* fake_nvidia_smi = R"(#!/bin/bash
case $1 in
  -q) echo 'CUDA Version                              : 13.0' ;;
  -L) echo 'GPU 0: Test "GPU"' ;;
  --query-gpu=*) echo "Test \"GPU\" | $1" ;;
esac
)";
constexpr const char* fake_ncu = R"(#!/bin/bash
[[ "$*" == *"--clock-control none"* ]] || exit 1
file=$(sed -n 's/.*--log-file \([^ ]*\).*/\1/p' <<<"$*")
{
  echo '==PROF== Connected to process 1'
  echo '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
  for i in 1 2 3 4 5 6; do
    echo '"0","conv<float, 3>","gpu__time_duration.sum","ns","2,000"'
    echo '"0","conv<float, 3>","dram__bytes_read.sum","byte","1000000"'
    echo '"1","pool","gpu__time_duration.sum","ns","500"'
  done
} >"$file"
)";
constexpr const char* fake_sanitizer = R"(#!/bin/bash
while [ $# -gt 0 ] && [ "$1" != "$SANITIZED" ]; do shift; done
exec "$@"
)";
constexpr const char* fake_python = R"(#!/bin/bash
case "$*" in
  -c*) echo 2.99 CUDA 13.0 ;;
  *ceilings*) echo 'ceiling copy 4300 GB/s' ;;
  *torch_gpu.py*)
    echo "$3  compiled_graph_memory_tf32_replay  1900000 img/s  134.7 us/step"
    echo "$3  tuned_compiled_graph_memory_tf32_replay  2000000 img/s  128.0 us/step"
    echo "$3  compiled_graph_memory_bf16_replay  2500000 img/s  102.4 us/step"
    echo "$3  eager_loader_tf32_epoch  400000 img/s  640.0 us/step"
    echo "$3  tuned  -  no time left" ;;
esac
)";

class GpuCheck : public testing::Test {
 protected:
  void SetUp() override {
    // Laid out like a bundle, so that the GPU tests of the build are not found.
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "data");
    for (const auto& [name, text] :
         std::map<std::string, const char*>{{"lockstep", fake_lockstep},
                                            {"lockstep-record", losing_record},
                                            {"mpirun", fake_mpirun},
                                            {"nvidia-smi", fake_nvidia_smi},
                                            {"ncu", fake_ncu},
                                            {"compute-sanitizer", fake_sanitizer},
                                            {"python3", fake_python},
                                            {"ops_gpu_test", "#!/bin/sh\necho $*\n"}}) {
      const fs::path file = folder_ / ("bin/" + name);
      std::ofstream(file) << text;
      fs::permissions(file, fs::perms::owner_all);
    }
    fs::copy(LOCKSTEP_SOURCE "/launcher/gpu-check.sh", folder_ / "bin");
    fs::copy(LOCKSTEP_SOURCE "/launcher/gpu-check", folder_ / "bin/gpu-check");
  }

  std::vector<std::string> command(const std::vector<std::string>& options,
                                   const std::vector<std::string>& environment) const {
    std::vector<std::string> words = {"env", "PATH=" + (folder_ / "bin").string() + ":/usr/bin:/bin",
                                      "SANITIZED=" + (folder_ / "bin/lockstep").string()};
    words.insert(words.end(), environment.begin(), environment.end());
    words.insert(words.end(), {(folder_ / "bin/gpu-check.sh").string(), "--output", output(), "--data-dir",
                               (folder_ / "data").string()});
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
  Outcome check(const std::vector<std::string>& options, const std::vector<std::string>& environment = {}) {
    Outcome outcome = run(command(options, environment));
    read_record();
    return outcome;
  }
  void read_record() {
    std::ifstream file(output() + "/gpu-check.json");
    record_ = nlohmann::json::parse(file);
  }

  std::string output() const { return (folder_ / "out").string(); }
  std::string archive() const { return output() + ".tar.gz"; }
  std::string log(const std::string& name) const { return contents(output() + "/logs/" + name); }
  std::string packed() const { return run({"tar", "-tzf", archive()}).out; }
  /// Element of that name; null: none.
  nlohmann::json named(const std::string& list, const std::string& name) const {
    for (const auto& one : record_[list]) {
      if (one["name"] == name) return one;
    }
    return {};
  }
  std::string result(const std::string& stage) const {
    const nlohmann::json found = named("stages", stage);
    if (found.is_null()) return "no such stage";
    return found["result"].get<std::string>() + ": " + found["reason"].get<std::string>();
  }
  std::vector<std::string> stages() const {
    std::vector<std::string> names;
    for (const auto& one : record_["stages"]) names.push_back(one["name"]);
    return names;
  }
  nlohmann::json value(const std::string& name) const { return named("figures", name)["value"]; }
  std::string fact(const std::string& name) const { return record_["machine"].value(name, "none"); }

  const TemporaryFolder folder_;
  nlohmann::json record_;
};

using Names = std::vector<std::string>;

TEST_F(GpuCheck, RecordsEveryStageInTwoCalls) {
  const Outcome first = check({"--part", "1"});
  EXPECT_EQ(first.status, 0) << first.out << first.err;
  const Names first_stages = {"machine", "doctor", "smoke",   "headline",
                              "profile", "tests",  "digests", "errors"};
  EXPECT_EQ(stages(), first_stages);
  EXPECT_EQ(fact("gpu_name"), "Test \"GPU\" | --query-gpu=name");
  EXPECT_EQ(fact("cudnn"), "9.19.0");
  EXPECT_EQ(fact("cuda_graph"), "on");
  EXPECT_EQ(named("stages", "smoke")["cases"].size(), 12U);
  EXPECT_EQ(fact("digest lenet fp32 on 4 ranks, graph off"), "xxh3:1");
  EXPECT_EQ(value("resnet18_bf16_first_step_s"), 2.5);
  EXPECT_EQ(value("lenet_kernels_us"), 2.5);
  EXPECT_EQ(value("lenet_launches"), 2.0);
  EXPECT_NE(contents(output() + "/kernels-lenet.txt").find("2.00 us"), std::string::npos);
  EXPECT_NE(log("tests/ops_gpu_test.log").find("--gtest_brief"), std::string::npos);
  EXPECT_TRUE(named("targets", "lenet_to_torch_graphs")["met"].is_null()) << "it is in the second part";
  EXPECT_NE(packed().find("out/gpu-check.json"), std::string::npos);

  const Outcome second = check({"--part", "2"});
  EXPECT_EQ(second.status, 0) << second.out << second.err;
  Names both(first_stages.begin() + 1, first_stages.end());
  both.insert(both.end(),
              {"machine", "torch", "losses", "accuracy", "sanitizers", "bench", "ops", "allreduce"});
  EXPECT_EQ(stages(), both) << "smoke is not repeated";
  for (const std::string& stage : both) EXPECT_EQ(result(stage), "passed: ");
  EXPECT_EQ(record_["calls"].size(), 2U);
  for (const auto& target : record_["targets"]) EXPECT_EQ(target["met"], true) << target;
  EXPECT_EQ(value("lenet_to_torch_graphs"), 2.5) << "the fastest that was compiled, not with bf16";
  EXPECT_EQ(value("resnet18_to_torch_best"), 2.0);
  EXPECT_EQ(value("ceiling_copy"), 4300.0);
  EXPECT_EQ(value("resnet18_canonical_to_ring"), 1.01);
  EXPECT_EQ(value("resnet18_test_accuracy"), 0.91);
  EXPECT_EQ(value("ops_resnet18_sum_us"), 95.3);
  EXPECT_EQ(fact("allreduce"), "ranks 2, exchange NCCL");
  EXPECT_NE(contents(output() + "/gpu-check.md").find("| ResNet-18, images/s over the best of PyTorch |"),
            std::string::npos);
}

TEST_F(GpuCheck, GoesOnWithoutCudaGraphsWhereOnlyTheyFail) {
  const Outcome outcome = check({"--only", "smoke,headline,digests"}, {"FAIL=cuda-graph on"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_EQ(result("smoke"), "failed: 6 of 12 failed, first lenet fp32 graph on: lockstep: error: no engine");
  EXPECT_EQ(fact("cuda_graph"), "off");
  EXPECT_EQ(result("headline"), "passed: ");
  EXPECT_NE(log("headline/lenet_tf32_1.log").find("CUDA graph off"), std::string::npos);
  EXPECT_EQ(result("digests"), "passed: ");
  for (const char* again : {"details", "memcheck"}) {
    EXPECT_NE(log(std::string("smoke/lenet_fp32_graph_on_") + again + ".log").find("no engine"),
              std::string::npos);
  }
}

/// CUDA forbids ncu in many containers. Without any tool, the program measures by itself.
TEST_F(GpuCheck, MeasuresKernelsByEventsWhereNoToolCan) {
  std::ofstream(folder_ / "bin/ncu") << "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM'\nexit 1\n";
  const Outcome outcome = check({"--only", "smoke,profile"});
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_EQ(result("profile"), "passed: ");
  const nlohmann::json cases = named("stages", "profile")["cases"];
  ASSERT_EQ(cases.size(), 4U) << cases;
  EXPECT_EQ(cases[0]["result"], "skipped");
  EXPECT_EQ(cases[0]["reason"], "==ERROR== ERR_NVGPUCTRPERM");
  EXPECT_EQ(cases[1]["name"], "lenet by events");
  EXPECT_EQ(value("lenet_kernels_us"), 160.5);
  EXPECT_EQ(value("lenet_launches"), 24.0);
  EXPECT_EQ(value("resnet18_between_launches_us"), 12.5);
  EXPECT_EQ(value("resnet18_of_events_us"), 1.25);
  EXPECT_EQ(contents(output() + "/kernels-lenet.txt").find("sum 160.50 us 24.0 launches a step\n"), 0U);
}

TEST_F(GpuCheck, FailuresHangsAndCrashesCostOnlyTheirCase) {
  const Outcome outcome = check({"--only", "smoke,headline,digests,ops,allreduce"},
                                {"GPU_CHECK_CASE_LIMIT=1", "HANG=bench step*bf16*micro*2", "CRASH=bench ops",
                                 "OTHER_DIGEST=bf16*cuda-graph off"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_EQ(result("headline"), "failed: 1 of 6 failed, first lenet_bf16_2: took too long");
  EXPECT_EQ(value("lenet_tf32_1_us"), 50.5);
  EXPECT_EQ(value("resnet18_bf16_default_us"), 2900.0) << "what comes after it is measured";
  EXPECT_EQ(result("digests").substr(0, 24), "failed: 1 of 12 failed, ");
  EXPECT_NE(result("digests").find("graph off, run 3: digest: xxh3:2 instead of xxh3:1"), std::string::npos);
  EXPECT_EQ(named("targets", "digests_that_differ")["met"], false);
  EXPECT_EQ(result("ops"), "failed: 2 of 2 failed, first lenet: ended by signal SEGV");
  EXPECT_EQ(result("allreduce"), "passed: ");
}

/// Digests that were not computed must not look like equal ones.
TEST_F(GpuCheck, DigestsThatAreMissingAreNoMeasurement) {
  for (const char* failing : {"transport", "resnet18-d2l*bf16"}) {
    EXPECT_EQ(check({"--only", "smoke,digests"}, {std::string("FAIL=") + failing}).status, 1);
    EXPECT_TRUE(value("digests_that_differ").is_null()) << failing;
    EXPECT_TRUE(named("targets", "digests_that_differ")["met"].is_null()) << failing;
  }
}

TEST_F(GpuCheck, GoesOnWhereTheRecordCannotBeWritten) {
  const Outcome outcome = check({"--only", "smoke,headline,ops"}, {"LOST=case lenet_tf32_1"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_EQ(result("headline"), "failed: 1 entries could not be recorded; logs/headline.log says why");
  EXPECT_NE(log("headline.log").find("no space left"), std::string::npos);
  EXPECT_EQ(result("ops"), "passed: ");

  const Outcome lost = check({"--only", "smoke,allreduce"}, {"LOST=end"});
  EXPECT_EQ(lost.status, 1) << lost.out;
  EXPECT_NE(lost.err.find("not recorded: end passed"), std::string::npos) << lost.err;
  EXPECT_EQ(named("stages", "allreduce")["cases"].size(), 1U);
  EXPECT_NE(packed().find("out/logs/allreduce.log"), std::string::npos);
}

TEST_F(GpuCheck, EndsInTimeWhereEverythingHangs) {
  const Outcome outcome = check({"--only", "smoke,headline"}, {"HANG=train", "GPU_CHECK_LIMIT=14"});
  EXPECT_EQ(outcome.status, 4) << outcome.out;
  EXPECT_EQ(result("smoke").substr(0, 8), "failed: ");
  EXPECT_EQ(named("stages", "smoke")["cases"][0]["reason"], "took too long");
  EXPECT_EQ(result("headline"), "skipped: no time left");
}

TEST_F(GpuCheck, AKilledCheckLeavesARecordThatTheNextOneContinues) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    Started killed(command({"--only", "doctor,smoke"}, {"HANG=train", "GPU_CHECK_CASE_LIMIT=2"}));
    killed.await_line("doctor ");
    do {
      std::this_thread::yield();
      read_record();
    } while (result("smoke") == "no such stage");
    kill(killed.process(), signal);
    killed.wait();
    read_record();
    EXPECT_EQ(result("doctor"), "passed: ");
    EXPECT_NE(packed().find("out/logs/doctor.log"), std::string::npos);
  }
  EXPECT_EQ(result("smoke"), "unfinished: the check ended in this stage");
  EXPECT_EQ(check({"--only", "smoke"}).status, 0);
  EXPECT_EQ(result("doctor"), "passed: ");
  EXPECT_EQ(result("smoke"), "passed: ");
  EXPECT_EQ(record_["calls"].size(), 3U);
}

TEST_F(GpuCheck, RefusesWhatItDoesNotKnow) {
  for (const Names& options : {Names{"--part", "3"}, {"--only", "smoke,nothing"}, {"--output"}, {"--fast"}}) {
    EXPECT_EQ(run(command(options, {})).status, 2) << options[0];
  }
}

/// Reads what the program prints. Its figures and accuracies mean nothing here.
TEST_F(GpuCheck, ReadsTheOutputOfTheProgramOnTheEmulatedGpu) {
  for (const char* tool : {"mpirun", "ncu"}) fs::remove(folder_ / "bin" / tool);
  fs::create_symlink(LOCKSTEP_MPIEXEC, folder_ / "bin/mpirun");
  const Outcome outcome = check(
      {"--rehearse", "--only", "doctor,smoke,headline,profile,digests,errors,losses,accuracy,bench,ops"},
      {"LOCKSTEP=" LOCKSTEP_EMULATED, "GPU_CHECK_LIMIT=280"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << contents(output() + "/gpu-check.md");
  EXPECT_EQ(fact("cudnn"), "emulated");
  for (const auto& target : record_["targets"]) {
    const bool of_torch = target["name"].get<std::string>().find("torch") != std::string::npos;
    EXPECT_EQ(target["value"].is_null(), of_torch) << target;
  }
  EXPECT_EQ(named("targets", "digests_that_differ")["met"], true);
  EXPECT_EQ(named("targets", "loss_difference")["met"], true);
  for (const char* figure : {"lenet_bf16_2_us", "lenet_tf32_timed_img_s", "ops_lenet_us", "ops_lenet_sum_us",
                             "lenet_kernels_us", "lenet_between_launches_us", "resnet18_of_events_us"}) {
    EXPECT_GT(value(figure), 0.0) << figure;
  }
  EXPECT_EQ(value("lenet_launches"), 26.0);
  EXPECT_NE(contents(output() + "/kernels-resnet18.txt").find(" us      1.0 launches  WholeSamples\n"),
            std::string::npos);
}

/// Uses the program of this build, and hides GPUs.
TEST_F(GpuCheck, SaysThatThereIsNoGpu) {
  fs::remove(folder_ / "bin/nvidia-smi");
  const Outcome outcome = check({}, {"LOCKSTEP=" LOCKSTEP_PROGRAM, "CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
  EXPECT_EQ(result("machine"), "skipped: no nvidia-smi: is the NVIDIA driver installed?");
  EXPECT_EQ(result("smoke").find("failed: 12 of 12 failed, first lenet fp32 graph off: lockstep: error: "),
            0U)
      << result("smoke");
  EXPECT_EQ(result("doctor").find("failed: 1 of 1 failed, first doctor: lockstep: error: "), 0U)
      << result("doctor");
  for (const char* stage : {"headline", "profile", "tests", "digests", "torch", "losses", "accuracy",
                            "sanitizers", "bench", "ops", "allreduce"}) {
    EXPECT_EQ(result(stage), "skipped: no step could be made on a GPU");
  }
  EXPECT_EQ(result("errors"), "passed: ");
}

}  // namespace
}  // namespace lockstep::test
