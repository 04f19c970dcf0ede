// Ranks on GPUs as processes under mpirun: the program on the emulated CUDA backend, whose one GPU they
// share.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "data/image_files.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

using Arguments = std::vector<std::string>;

Arguments training(const Arguments& more) {
  Arguments arguments = {"train",   "--dataset",       "synthetic", "--synthetic-shape",
                         "1x12x12", "--samples",       "150",       "--model",
                         "mlp:12",  "--epochs",        "2",         "--batch-size",
                         "64",      "--micro-batches", "4",         "--lr",
                         "0.2",     "--momentum",      "0.5"};
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
      const Outcome outcome =
          emulated(ranks, {"--device", "cuda", "--reduce", "canonical", "--cuda-graph", graph});
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      const std::string digest = line_after(outcome.out, "digest ");
      if (expected.empty()) expected = digest;
      EXPECT_EQ(digest, expected) << ranks << " ranks, graph " << graph;
      EXPECT_EQ(outcome.err.find("share GPU") != std::string::npos, ranks > 1) << outcome.err;
    }
  }
}

/// RandAugment is the host's: its threads read while the GPU computes.
TEST(GpuRanks, HaveOneDigestWhereTheHostReads) {
  std::string expected;
  for (const int ranks : {1, 2, 3}) {
    for (const char* threads : {"1", "2", "auto"}) {
      for (const char* graph : {"on", "off"}) {
        const Outcome outcome =
            emulated(ranks, {"--device", "cuda", "--reduce", "canonical", "--randaugment", "rand-m9-n2",
                             "--mixup", "0.2", "--threads", threads, "--cuda-graph", graph});
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        const std::string digest = line_after(outcome.out, "digest ");
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
      const Outcome outcome =
          mpirun(LOCKSTEP_EMULATED, ranks,
                 {"train", "--device", "cuda", "--dataset", "images", "--data-dir", folder.string(),
                  "--image-size", "12", "--model", "mlp:8", "--batch-size", "32", "--micro-batches", "4"});
      EXPECT_EQ(outcome.status, 3) << outcome.err;
      const std::size_t error = outcome.err.find("lockstep: error: rank ");
      ASSERT_NE(error, std::string::npos) << outcome.err;
      EXPECT_EQ(error, outcome.err.rfind("lockstep: error: ")) << outcome.err;
      EXPECT_NE(outcome.err.find(std::string("/") + part + "/odd/7.jpg: is neither a JPEG nor a PNG file: "),
                std::string::npos)
          << outcome.err;
    }
    std::filesystem::remove(folder / part / "odd/7.jpg");
  }
}

TEST(GpuRanks, AddUpByTheRingToo) {
  const Outcome outcome = emulated(2, {"--device", "cuda"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("ring on 2 ranks"), std::string::npos) << outcome.out;
}

TEST(GpuRanks, WorkBesideCpuRanksWithTheirShareOfTheWork) {
  Arguments command = {"timeout", "-k", "5", "60", LOCKSTEP_MPIEXEC, "--oversubscribe", "--bind-to", "none"};
  for (const char* device : {"cpu", "cuda"}) {
    command.insert(command.end(), {device == std::string("cpu") ? "-np" : ":"});
    if (device == std::string("cuda")) command.emplace_back("-np");
    command.insert(command.end(), {"1", LOCKSTEP_EMULATED});
    for (const std::string& argument :
         training({"--device", device, "--reduce", "canonical", "--rank-weights", "1,3", "--threads", "1"})) {
      command.push_back(argument);
    }
  }
  const Outcome outcome = run(command, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(line_after(outcome.out, "digest ").size(), 37U);
}

TEST(GpuRanks, AreRefusedInOneLineWhereNoGpuIsVisible) {
  const Outcome outcome = lockstep(2, training({"--device", "cuda"}), {"CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("lockstep: error: rank 0 on "), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace lockstep::test
