// Ranks on GPUs as processes under mpirun: the program on the emulated CUDA backend, whose one GPU they
// share.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "support/image_files.h"
#include "support/started.h"

namespace lockstep::test {
namespace {

using Arguments = std::vector<std::string>;

Arguments words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

Arguments training(const Arguments& more, const std::string& learning_rate = "0.2") {
  Arguments arguments =
      words(std::string(
                "train --dataset synthetic --synthetic-shape 1x12x12 --samples 150 --model mlp:12 --epochs 2 "
                "--batch-size 64 --micro-batches 4 --momentum 0.5 --lr ") +
            learning_rate);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Outcome emulated(int ranks, const Arguments& more) {
  return mpirun(LOCKSTEP_EMULATED, ranks, training(more));
}

TEST(GpuRanks, HaveOneDigestOnAnyNumberOfRanksWithAndWithoutGraphs) {
  std::string expected;
  for (const int ranks : {1, 2, 3, 4}) {
    for (const char* graph : {"on", "off"}) {
      const Outcome outcome = emulated(ranks, {"--device", "cuda", "--reduce", "canonical", "--cuda-graph",
                                               graph, "--transport", "messages"});
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      const std::string digest = digest_of(outcome.out);
      if (expected.empty()) expected = digest;
      EXPECT_EQ(digest, expected) << ranks << " ranks, graph " << graph;
      EXPECT_EQ(outcome.err.find("share GPU") != std::string::npos, ranks > 1) << outcome.err;
    }
  }
}

/// With RandAugment, threads of the host read samples while the GPU computes.
TEST(GpuRanks, HaveOneDigestWhereTheHostReads) {
  std::string expected;
  for (const int ranks : {1, 2, 3}) {
    for (const char* threads : {"1", "2", "auto"}) {
      for (const char* graph : {"on", "off"}) {
        const Outcome outcome = emulated(
            ranks, {"--device", "cuda", "--transport", "messages", "--reduce", "canonical", "--randaugment",
                    "rand-m9-n2", "--mixup", "0.2", "--threads", threads, "--cuda-graph", graph});
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        const std::string digest = digest_of(outcome.out);
        if (expected.empty()) expected = digest;
        EXPECT_EQ(digest, expected) << ranks << " ranks, " << threads << " threads, graph " << graph;
      }
    }
  }
}

TEST(GpuRanks, NameTheFileThatCannotBeRead) {
  const TemporaryFolder folder;
  for (const char* part : {"train", "val"}) {
    for (int i = 0; i < 90; ++i) {
      const auto place = folder / part / (i % 2 == 0 ? "even" : "odd");
      std::filesystem::create_directories(place);
      std::ofstream(place / (std::to_string(i) + ".jpg"), std::ios::binary)
          << (i == 7 ? "damaged" : jpeg_file(20, 16, static_cast<std::uint32_t>(i)));
    }
  }
  for (const char* part : {"train", "val"}) {  // in training first, then in the evaluation
    for (const int ranks : {1, 2, 3}) {
      const Outcome outcome = mpirun(LOCKSTEP_EMULATED, ranks,
                                     {"train", "--device", "cuda", "--transport", "messages", "--dataset",
                                      "images", "--data-dir", folder.string(), "--image-size", "12",
                                      "--model", "mlp:8", "--batch-size", "32", "--micro-batches", "4"});
      EXPECT_EQ(outcome.status, 3) << outcome.err;
      const std::size_t error = outcome.err.find("lockstep: error: rank ");
      ASSERT_NE(error, std::string::npos) << outcome.err;
      EXPECT_EQ(error, outcome.err.rfind("lockstep: error: ")) << outcome.err;
      EXPECT_NE(
          outcome.err.find(std::string("/") + part +
                           "/odd/7.jpg: is neither a JPEG nor a PNG file; on a GPU no sample can be skipped"),
          std::string::npos)
          << outcome.err;
    }
    std::filesystem::remove(folder / part / "odd/7.jpg");
  }
}

TEST(GpuRanks, RunsGoOnWithAWarningWhereThereIsNoGpu) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string();
  const Outcome first = emulated(1, {"--run-dir", run, "--max-steps", "2"});  // device auto
  ASSERT_EQ(first.status, 0) << first.err;
  const Outcome rest =
      mpirun(LOCKSTEP_PROGRAM, 1, {"train", "--resume", run, "--max-steps", "0", "--run-dir", "auto"},
             {"CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_NE(rest.err.find("processor was emulated and is now CPU: the result may differ"), std::string::npos)
      << rest.err;
  EXPECT_NE(rest.err.find("from step 2"), std::string::npos) << rest.err;
  const Outcome shown = lockstep(0, {"inspect", run + "/checkpoints/step-00000002"});
  EXPECT_NE(shown.out.find("  CUDA = 13.0\n  cuDNN = emulated\n"), std::string::npos) << shown.out;
}

TEST(GpuRanks, AddUpByTheRingToo) {
  const Outcome outcome = emulated(2, {"--device", "cuda", "--transport", "messages", "--reduce", "ring"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("(emulated, fp32, 4 micro-batches, ring on 2 ranks: "), std::string::npos)
      << outcome.out;
}

/// The network has two buckets. That of the later layers is summed while the gradients of the other layers
/// are computed. The sum of two gradients does not depend on their order.
TEST(GpuRanks, SumBucketsInTheMiddleOfBackward) {
  std::string expected;
  for (const char* reduce : {"canonical", "ring"}) {
    for (const char* graph : {"on", "off"}) {
      const Outcome outcome = mpirun(
          LOCKSTEP_EMULATED, 2,
          words(std::string("train --dataset synthetic --synthetic-shape 1x8x8 --samples 24 --epochs 1 "
                            "--model mlp:2000,1100 --batch-size 16 --micro-batches 2 --lr 0.2 "
                            "--device cuda --transport shared-memory --cuda-graph ") +
                graph + " --reduce " + reduce));
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      const std::string digest = digest_of(outcome.out);
      if (expected.empty()) expected = digest;
      EXPECT_EQ(digest, expected) << reduce << ", graph " << graph;
    }
  }
}

TEST(GpuRanks, ContinueFromCheckpointsOnOtherRanksWithTheSameDigest) {
  const TemporaryFolder runs;
  const auto recipe = [&](const std::string& run, const std::string& graph) {
    Arguments arguments = words(
        "train --dataset synthetic --synthetic-shape 1x12x12 --samples 150 --model mlp:12 --epochs 30 "
        "--batch-size 64 --micro-batches 4 --momentum 0.5 --nesterov --mixup 0.2 --model-ema "
        "--model-ema-decay 0.9 --clip-grad 1 --device cuda --reduce canonical --transport messages "
        "--resume auto --cuda-graph " +
        graph);
    arguments.insert(arguments.end(), {"--run-dir", (runs / run).string()});
    return arguments;
  };
  const auto mpiexec = [](int ranks, const Arguments& arguments) {
    Arguments command = words(std::string(LOCKSTEP_MPIEXEC) + " --oversubscribe --bind-to none -np " +
                              std::to_string(ranks) + " " + LOCKSTEP_EMULATED);
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  };
  const std::string digest = digest_of(mpirun(LOCKSTEP_EMULATED, 1, recipe("whole", "on")).out);
  for (const auto& [before, after] : {std::pair("on", "off"), {"off", "on"}}) {
    Started stopped(mpiexec(2, recipe(before, before)));
    stopped.await_line("epoch 1/");
    kill(stopped.process(), SIGUSR1);
    const Outcome first = stopped.wait();
    EXPECT_EQ(first.status, 75) << first.err;
    EXPECT_NE(first.err.find("stopped by SIGUSR1"), std::string::npos) << first.err;
    const Outcome resumed = mpirun(LOCKSTEP_EMULATED, 3, recipe(before, after));
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_NE(resumed.err.find("from step "), std::string::npos) << resumed.err;
    EXPECT_EQ(digest_of(resumed.out), digest) << "graphs " << before << ", then " << after;
  }
}

TEST(GpuRanks, RecordTheEnginesOfARun) {
  const TemporaryFolder folder;
  const std::string run = (folder / "run").string();
  const Outcome outcome = emulated(1, {"--device", "cuda", "--run-dir", run});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = contents(run + "/plans.json");
  EXPECT_NE(text.find("\"format\": \"lockstep plans 1\""), std::string::npos) << text;
  EXPECT_NE(text.find("convolution backward weights: "), std::string::npos) << text;
}

/// Trains with rank 0 on the CPU and rank 1 on the GPU. Status 124: it took more than a minute.
Outcome beside_cpu(const std::string& more, const std::string& learning_rate = "0.2") {
  std::string line = std::string("timeout -k 5 60 ") + LOCKSTEP_MPIEXEC + " --oversubscribe --bind-to none";
  for (const std::string device : {"cpu", "cuda"}) {
    line += (device == "cpu" ? " -np 1 " : " : -np 1 ") + std::string(LOCKSTEP_EMULATED);
    for (const std::string& argument :
         training(words("--threads 1 --device " + device + " " + more), learning_rate)) {
      line += " " + argument;
    }
  }
  return run(words(line));
}

TEST(GpuRanks, WorkBesideCpuRanksWithTheirShareOfTheWork) {
  const Outcome outcome = beside_cpu("--reduce canonical --rank-weights 1,3");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string digest = digest_of(outcome.out);
  EXPECT_EQ(digest.size(), 37U);
  EXPECT_EQ(digest_of(beside_cpu("--rank-weights 1,3").out), digest);
}

/// Ranks on different devices compute different bits, which is allowed only with rank weights.
TEST(GpuRanks, AreRefusedBesideCpuRanksUnlessSharesOfTheWorkAreGiven) {
  const Outcome outcome = beside_cpu("");
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("--device: rank 1 has device = cuda, rank 0 has cpu; give all ranks the same"),
            std::string::npos)
      << outcome.err;
}

TEST(GpuRanks, EndTogetherWithCpuRanksWhereTheLossIsNotFinite) {
  const Outcome outcome = beside_cpu("--rank-weights 1,1", "1e30");
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("with learning rate 1e+30"), std::string::npos) << outcome.err;
}

/// The GPU of one of two ranks fails while the run is prepared, and later.
TEST(GpuRanks, EndTogetherWithTheReasonWhereAGpuFails) {
  for (const std::string failure :
       {"1 allocate 1", "1 allocate 9", "0 allocate 14", "1 copy 2", "1 copy 20", "0 copy 20"}) {
    const Outcome outcome =
        mpirun(LOCKSTEP_EMULATED, 2,
               training({"--device", "cuda", "--transport", "messages", "--log-interval", "1"}),
               {"EMULATED_FAILURE=" + failure});
    EXPECT_EQ(outcome.status, 4) << failure << ": " << outcome.err;
    EXPECT_NE(outcome.err.find("lockstep: error: rank " + failure.substr(0, 1) + " on "), std::string::npos)
        << failure << ": " << outcome.err;
    EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << failure << ": " << outcome.err;
    EXPECT_NE(outcome.err.find(failure[2] == 'c' ? "GPU 0: a kernel failed" : "GPU 0: not enough memory"),
              std::string::npos)
        << failure << ": " << outcome.err;
  }
}

TEST(GpuRanks, AreRefusedInOneLineWhereThereAreMoreThanGpus) {
  const Outcome outcome = emulated(3, {"--device", "cuda"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.err.find("lockstep: error: rank 1 on "), 0U) << outcome.err;
  EXPECT_NE(outcome.err.find(": ranks 0 and 1 have the same GPU 0000:00:00 of "), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.rfind("lockstep: error: "), 0U) << "one line: " << outcome.err;

  const Outcome doctor = mpirun(LOCKSTEP_EMULATED, 3, words("doctor --device cuda --dataset synthetic"));
  EXPECT_EQ(doctor.status, 4);
  EXPECT_EQ(line_after(doctor.out, "GPUs and ranks "), "3 ranks share 1 GPU");
  EXPECT_NE(doctor.err.find("lockstep: error: rank 0 on "), std::string::npos) << doctor.err;
}

TEST(GpuRanks, FallBackToTheCpuWhereThereAreMoreThanGpusAndNoneIsAskedFor) {
  const Outcome outcome = emulated(2, {"--device", "auto"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string warning = "has 2 ranks and 1 GPU: falling back to the CPU";
  EXPECT_EQ(count(outcome.err, warning), 1) << outcome.err;
  const Outcome cpu = emulated(2, {"--device", "cpu"});
  EXPECT_EQ(digest_of(outcome.out), digest_of(cpu.out));
  const Outcome alone = emulated(1, {"--device", "auto"});
  EXPECT_NE(alone.err.find("a GPU (emulated)"), std::string::npos) << alone.err;
  const Outcome doctor = mpirun(LOCKSTEP_EMULATED, 2, words("doctor --dataset synthetic"));
  EXPECT_EQ(doctor.status, 0) << doctor.err;
}

TEST(GpuRanks, AreRefusedInOneLineWhereNoGpuIsVisible) {
  const Outcome outcome = lockstep(2, training({"--device", "cuda"}), {"CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("lockstep: error: rank 0 on "), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace lockstep::test
