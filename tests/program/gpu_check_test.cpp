// launcher/gpu-check.sh with the program on the emulated GPU, and without a GPU.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/run.h"

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;

class GpuCheck : public testing::Test {
 protected:
  void SetUp() override {
    // Laid out like a bundle, so that the GPU tests of the build are not found.
    emulate("");
    fs::create_symlink(LOCKSTEP_MPIEXEC, folder_ / "bin/mpirun");
    fs::copy(LOCKSTEP_SOURCE "/launcher/gpu-check.sh", folder_ / "bin");
    fs::copy(LOCKSTEP_SOURCE "/launcher/gpu-check", folder_ / "bin/gpu-check");
  }

  /// Makes the emulated-GPU build the program under test. `exceptions`: cases of a bash `case` on its
  /// arguments.
  void emulate(const std::string& exceptions) const {
    folder_.write_script("bin/lockstep",
                         "case \"$*\" in\n" + exceptions + "\nesac\nexec " LOCKSTEP_EMULATED " \"$@\"");
  }

  Words command(const Words& options, const Words& environment) const {
    return words("env PATH={}:/usr/bin:/bin", folder_ / "bin") + environment +
           words("{} --rehearse --output {}", folder_ / "bin/gpu-check.sh", folder_ / "out") + options;
  }
  Outcome check(const Words& options, const Words& environment = {"GPU_CHECK_LIMIT=280"}) {
    Outcome outcome = run(command(options, environment));
    read_record();
    return outcome;
  }
  void read_record() { record_ = nlohmann::json::parse(contents(folder_ / "out/gpu-check.json")); }
  std::string page() const { return contents(folder_ / "out/gpu-check.md"); }
  std::string packed() const { return run({"tar", "-tzf", (folder_ / "out.tar.gz").string()}).out; }

  /// Element of `list` with that name, or null.
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
  nlohmann::json value(const std::string& name) const { return named("figures", name)["value"]; }
  nlohmann::json met(const std::string& target) const { return named("targets", target)["met"]; }

  const TemporaryFolder folder_;
  nlohmann::json record_;
};

TEST_F(GpuCheck, RecordsEveryStageInTwoCalls) {
  if (!LOCKSTEP_OPEN_MPI_4)
    GTEST_SKIP() << "the mpirun of Open MPI 5.0.7 crashes when it starts two programs";
  folder_.write_script("bin/python3",
                       "case \"$*\" in\n"
                       "-c*) echo 2.99 CUDA 13.0 ;;\n"
                       "*ceilings*) echo 'ceiling copy 4300 GB/s' ;;\n"
                       "*) echo \"$3  compiled_graph_tf32_replay  2000000 img/s  128.0 us/step\"\n"
                       "   echo \"$3  tuned  -  no time left\" ;;\nesac");
  const Outcome first = check(words("--part 1 --only doctor,smoke,headline,profile,digests,errors"));
  EXPECT_EQ(first.status, 0) << first.out << page();
  EXPECT_TRUE(met("lenet_to_torch_graphs").is_null()) << "it is in the second part";
  const Outcome second = check(words("--part 2 --only smoke,torch,losses,accuracy,bench,ops,allreduce"));
  EXPECT_EQ(second.status, 0) << second.out << page();
  EXPECT_EQ(record_["calls"].size(), 2U);
  Words stages;
  for (const auto& stage : record_["stages"]) {
    stages.push_back(stage["name"]);
    EXPECT_EQ(result(stages.back()), "passed: ");
  }
  EXPECT_EQ(stages,
            words("doctor smoke headline profile digests errors torch losses accuracy bench ops allreduce"))
      << "smoke is not repeated";
  EXPECT_EQ(record_["machine"]["cudnn"], "9.19.0");
  EXPECT_EQ(record_["machine"]["cuda_graph"], "on");
  EXPECT_EQ(value("ceiling_copy"), 4300);
  EXPECT_EQ(value("torch_lenet_best_graphs_img_s"), 2000000);
  for (const auto& target : record_["targets"]) {
    EXPECT_FALSE(target["value"].is_null()) << target;
  }
  EXPECT_EQ(met("digests_that_differ"), true);
  EXPECT_EQ(met("loss_difference"), true);
  for (const char* figure :
       {"lenet_bf16_2_us", "lenet_tf32_timed_img_s", "ops_lenet_us", "ops_lenet_sum_us", "lenet_kernels_us",
        "lenet_launches", "resnet18_bf16_first_step_s", "resnet18_train_epoch_s", "allreduce_44mb_ring_us",
        "allreduce_44mb_canonical_us"}) {
    EXPECT_GT(value(figure), 0.0) << figure;
  }
  for (const char* figure : {"lenet_between_launches_us", "resnet18_of_events_us"}) {
    EXPECT_EQ(value(figure), 0.0) << figure << ": the clock of the fake runtime stands still between kernels";
  }
  expect_holds(page(), "| ResNet-18, images/s over the best of PyTorch |");
  for (const char* file : {"out/gpu-check.json", "out/kernels-resnet18.txt", "out/logs/ops/lenet.log"}) {
    expect_holds(packed(), file);
  }
}

TEST_F(GpuCheck, FailuresHangsAndCrashesCostOnlyTheirCase) {
  emulate(
      "*'cuda-graph on'*) echo 'lockstep: error: no \"engine\"' >&2; exit 4 ;;\n"
      "*bf16*'micro-batches 2'*) trap '' TERM; while true; do sleep 0.1; done ;;\n"
      "*'bench ops'*) kill -SEGV $$ ;;\n"
      "*transport*) exit 4 ;;\n");
  const Outcome outcome =
      check({"--only", "smoke,headline,digests,ops"}, {"GPU_CHECK_CASE_LIMIT=5", "GPU_CHECK_LIMIT=280"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_EQ(result("smoke"),
            "failed: 6 of 12 failed, first lenet fp32 graph on: lockstep: error: no \"engine\"");
  EXPECT_EQ(record_["machine"]["cuda_graph"], "off");
  expect_holds(packed(), "out/logs/smoke/lenet_fp32_graph_on_details.log");
  EXPECT_EQ(result("headline"), "failed: 1 of 7 failed, first lenet_bf16_2: took too long");
  EXPECT_GT(value("resnet18_bf16_default_us"), 0.0) << "what comes after it is measured";
  EXPECT_EQ(result("ops"), "failed: 2 of 2 failed, first lenet: ended by signal SEGV");
  EXPECT_TRUE(met("digests_that_differ").is_null()) << "digests that are missing are not equal";
}

TEST_F(GpuCheck, ContinuesWhereTheRecordCannotBeWritten) {
  emulate("*'bench ops'*) rm \"$RECORD\"; mkdir \"$RECORD\" ;;\n");
  const Outcome outcome =
      run(command({"--only", "smoke,ops,allreduce"}, {"RECORD=" + (folder_ / "out/gpu-check.tsv").string()}));
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  expect_holds(outcome.out, "entries could not be recorded; logs/ops.log says why\n");
  expect_holds(outcome.out, "\nallreduce ");
}

TEST_F(GpuCheck, EndsInTimeAndLeavesARecordThatTheNextCallContinues) {
  emulate("*train*) trap '' TERM; while true; do sleep 0.1; done ;;\n");
  const Outcome outcome = check({"--only", "smoke,headline"}, {"GPU_CHECK_LIMIT=13"});
  EXPECT_EQ(outcome.status, 4) << outcome.out;
  EXPECT_EQ(named("stages", "smoke")["cases"][0]["reason"], "took too long");
  EXPECT_EQ(result("headline"), "skipped: no time left");
  for (const int signal : {SIGKILL, SIGTERM}) {
    emulate("*train*) sleep 60 ;;\n");
    Started killed(command({"--only", "doctor,smoke"}, {"GPU_CHECK_CASE_LIMIT=2"}));
    killed.await_line("doctor ");
    do {
      std::this_thread::yield();
      read_record();
    } while (result("smoke") != "unfinished: the check ended in this stage");
    kill(killed.process(), signal);
    killed.wait();
    read_record();
    EXPECT_EQ(result("doctor"), "passed: ");
    EXPECT_EQ(result("smoke"), "unfinished: the check ended in this stage");
    expect_holds(packed(), "out/logs/doctor.log");
    emulate("");
    EXPECT_EQ(check({"--only", "smoke"}).status, 0);
    EXPECT_EQ(result("doctor"), "passed: ");
    EXPECT_EQ(result("smoke"), "passed: ");
  }
  EXPECT_EQ(record_["calls"].size(), 5U);
}

TEST_F(GpuCheck, RefusesWhatItDoesNotKnow) {
  for (const Words& options : {Words{"--part", "3"}, {"--only", "smoke,nothing"}, {"--output"}, {"--fast"}}) {
    EXPECT_EQ(run(command(options, {})).status, 2) << options[0];
  }
}

/// Uses the program of this build, and hides GPUs.
TEST_F(GpuCheck, SaysThatThereIsNoGpu) {
  const Outcome outcome = check({}, {"LOCKSTEP=" LOCKSTEP_PROGRAM, "CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
  expect_holds(result("smoke"), "failed: 12 of 12 failed, first lenet fp32 graph off: lockstep: error: ");
  expect_holds(result("doctor"), "failed: 1 of 1 failed, first doctor: lockstep: error: ");
  for (const std::string& stage :
       words("headline profile tests digests torch losses accuracy sanitizers bench ops allreduce")) {
    EXPECT_EQ(result(stage), "skipped: no step could be made on a GPU");
  }
  EXPECT_EQ(result("errors"), "passed: ");
}

}  // namespace
}  // namespace lockstep::test
