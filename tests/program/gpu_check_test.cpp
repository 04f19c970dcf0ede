// launcher/gpu-check.sh with fake programs of a machine with a GPU, and without a GPU.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/run.h"

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;

/// Fake program that prints the lines which the script reads.
constexpr const char* fake_lockstep = R"(#!/bin/bash
case "$*" in
  --version) echo lockstep 9.9 ;;
  doctor*) printf 'CUDA           13.0, 1 GPU\ncuDNN          9.19.0\nNCCL           2.28.9\n' ;;
  bench\ step*fp32*) [ ! "$FAIL_FP32" ] || { echo 'lockstep: error: out of memory' >&2; exit 4; } ;;&
  bench\ step*)
    us=50.5; case "$*" in *resnet18*canonical*) us=3100 ;; *resnet18*) us=3000 ;; esac
    printf 'load 1.0 2 %%\nstep        %s  100.0 %%\nmemory      200 MB at most\n5000000 img/s\n' $us ;;
  bench\ allreduce*)
    echo 'ranks 2  processor Test GPU  exchange NCCL'
    echo '46137344  100.0  1.0  200.0  2.0  0.5' ;;
  bench\ ops*)
    [ ! "$FAIL_OPS" ] || { echo 'lockstep: error: no engine' >&2; exit 4; }
    echo 'in one go    90.5 us, 95 % of the sum of 95.3 us' ;;
  train*)
    [ "${CUDA_VISIBLE_DEVICES-unset}" ] || { echo 'lockstep: error: no GPU is visible' >&2; exit 4; }
    directory=$(sed -n 's/.*--run-dir \([^ ]*\).*/\1/p' <<<"$*")
    if [ "$directory" ]; then
      mkdir -p "$directory"
      for step in {1..100}; do
        echo "{\"event\":\"step\",\"epoch\":1,\"step\":$step,\"samples\":256,\"loss\":2.30$step,\"learning_rate\":0.2}"
      done >"$directory/metrics.jsonl"
    fi
    echo 'epoch 10/10  train loss 0.3  train acc 0.9  test loss 0.3  test acc 0.9100  0.60 s  100000 img/s'
    digest=1; case "$*" in *${OTHER_DIGEST:-none}*) digest=2 ;; esac
    echo digest xxh3:$digest ;;
esac
)";
constexpr const char* fake_mpirun = R"(#!/bin/bash
[ "$1" != --version ] || { echo mpirun of the test; exit; }
while [ "$1" != -np ]; do shift; done
shift 2
exec "$@"
)";
constexpr const char* fake_nvidia_smi = R"(#!/bin/bash
case $1 in
  -q) echo 'CUDA Version                              : 13.0' ;;
  -L) echo 'GPU 0: Test "GPU"' ;;
  --query-gpu=memory.used) echo 1234 ;;
  --query-gpu=*) echo "Test \"GPU\" $1" ;;
esac
)";
constexpr const char* fake_python = R"(#!/bin/bash
case $1 in
  -c) echo 2.99 CUDA 13.0 ;;
  *torch_gpu.py)
    echo "$3  compiled_memory_tf32  2000000 img/s  128.0 us/step"
    echo "$3  eager_loader  400000 img/s  640.0 us/step"
    echo "$3  tuned  -  no time left" ;;
esac
)";

class GpuCheck : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "data");
    for (const auto& [name, text] :
         std::map<std::string, const char*>{{"lockstep", fake_lockstep},
                                            {"mpirun", fake_mpirun},
                                            {"nvidia-smi", fake_nvidia_smi},
                                            {"python3", fake_python},
                                            {"ops_gpu_test", "#!/bin/sh\necho good\n"}}) {
      const fs::path file = folder_ / ("bin/" + name);
      std::ofstream(file) << text;
      fs::permissions(file, fs::perms::owner_all);
    }
    // Laid out like a bundle, so that the GPU tests of the build are not found.
    fs::create_directories(folder_ / "bench");
    fs::copy(LOCKSTEP_SOURCE "/bench/common.sh", folder_ / "bench");
    for (const char* script : {"gpu-check.sh", "gpu-check-record.sh"}) {
      fs::copy(std::string(LOCKSTEP_SOURCE "/launcher/") + script, folder_ / "bin");
    }
  }

  Outcome check(const std::vector<std::string>& options, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> command = {"env", "PATH=" + (folder_ / "bin").string() + ":/usr/bin:/bin"};
    command.insert(command.end(), environment.begin(), environment.end());
    command.insert(command.end(), {(folder_ / "bin/gpu-check.sh").string(), "--output", output(),
                                   "--data-dir", (folder_ / "data").string()});
    command.insert(command.end(), options.begin(), options.end());
    Outcome outcome = run(command);
    std::ifstream file(output() + "/gpu-check.json");
    record_ = nlohmann::json::parse(file);
    return outcome;
  }
  std::string output() const { return (folder_ / "out").string(); }
  std::string result(const std::string& step) const {
    for (const auto& one : record_["steps"]) {
      if (one["name"] == step)
        return one["result"].get<std::string>() + ": " + one["reason"].get<std::string>();
    }
    return "no such step";
  }
  nlohmann::json figure(const std::string& name) const {
    for (const auto& one : record_["figures"]) {
      if (one["name"] == name) return one;
    }
    return {};
  }

  const TemporaryFolder folder_;
  nlohmann::json record_;
};

TEST_F(GpuCheck, RecordsEveryStepAndFigure) {
  const Outcome outcome = check({});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  for (const char* step : {"machine", "doctor", "refusal", "gpu", "tests", "digests", "loss", "accuracy",
                           "bench", "allreduce", "ops", "torch"}) {
    EXPECT_EQ(result(step), "passed: ");
  }
  EXPECT_EQ(record_["machine"]["gpu_name"], "Test \"GPU\" --query-gpu=name");
  EXPECT_EQ(record_["machine"]["cudnn"], "9.19.0");
  EXPECT_EQ(record_["machine"]["digest_4_ranks_graph_off"], "xxh3:1");
  EXPECT_EQ(figure("loss_100_steps_difference")["met"], true);
  EXPECT_EQ(figure("lenet_tf32_ring_us")["value"], 50.5);
  EXPECT_EQ(figure("lenet_tf32_ring_us")["met"], true);
  EXPECT_EQ(figure("lenet_fp32_ring_us")["met"], nullptr);
  EXPECT_EQ(figure("lenet_test_accuracy")["value"], 0.91);
  EXPECT_EQ(figure("lenet_gpu_memory_mb")["value"], 1234);
  EXPECT_EQ(figure("resnet18_bf16_ring_epoch_s")["value"], 0.703);
  EXPECT_EQ(figure("canonical_to_ring_resnet18")["value"], 1.033);
  EXPECT_EQ(record_["machine"]["allreduce"], "ranks 2, exchange NCCL");
  EXPECT_EQ(figure("allreduce_44mb_canonical_us")["value"], 200.0);
  EXPECT_EQ(figure("ops_lenet_tf32_us")["value"], 90.5);
  EXPECT_EQ(figure("ops_resnet18-d2l_bf16_sum_us")["value"], 95.3);
  EXPECT_TRUE(fs::exists(output() + "/ops-lenet.txt"));
  EXPECT_EQ(figure("lenet_ring_to_torch_compiled")["value"], 2.5);
  EXPECT_EQ(figure("resnet18_whole_to_torch_best")["value"], 2.5);
  EXPECT_TRUE(fs::exists(output() + "/gpu-check.md"));
}

TEST_F(GpuCheck, OneFailureStopsNothing) {
  const Outcome outcome = check({"--only", "digests,bench,ops,torch"},
                                {"OTHER_DIGEST=--cuda-graph off", "FAIL_FP32=1", "FAIL_OPS=1"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_EQ(result("digests"), "failed: 1 ranks, CUDA graph off: xxh3:2 instead of xxh3:1");
  EXPECT_EQ(result("bench"), "failed: lockstep: error: out of memory");
  EXPECT_EQ(figure("lenet_tf32_ring_us")["value"], 50.5) << "what comes after it is measured";
  EXPECT_EQ(result("ops"), "failed: lockstep: error: no engine");
  EXPECT_EQ(result("torch"), "passed: ");
  EXPECT_EQ(record_["steps"].size(), 5U);
}

TEST_F(GpuCheck, EndsInTime) {
  const Outcome outcome = check({"--only", "accuracy"}, {"GPU_CHECK_LIMIT=3"});
  EXPECT_EQ(result("accuracy"), "skipped: no time left");
  EXPECT_EQ(outcome.status, 4) << "not even one step was made";
}

/// Uses the program of this build, and hides GPUs.
TEST_F(GpuCheck, SaysThatThereIsNoGpu) {
  fs::remove(folder_ / "bin/nvidia-smi");
  const Outcome outcome = check({}, {"LOCKSTEP=" LOCKSTEP_PROGRAM, "CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
  EXPECT_EQ(result("machine"), "skipped: no nvidia-smi: is the NVIDIA driver installed?");
  EXPECT_TRUE(result("gpu").starts_with("failed: lockstep: error: ")) << result("gpu");
  EXPECT_TRUE(result("doctor").starts_with("failed: lockstep: error: ")) << result("doctor");
  for (const char* step :
       {"tests", "digests", "loss", "accuracy", "bench", "allreduce", "ops", "torch", "profile"}) {
    EXPECT_EQ(result(step), "skipped: no GPU to compute on");
  }
  EXPECT_EQ(result("refusal"), "passed: ");
}

}  // namespace
}  // namespace lockstep::test
