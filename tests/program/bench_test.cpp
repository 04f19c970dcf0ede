// lockstep bench on the CPU and on the emulated GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "support/run.h"

namespace lockstep::test {
namespace {

/// Program and device of a command.
struct Place {
  const char* program;
  const char* device;
};
constexpr Place cpu{LOCKSTEP_PROGRAM, "cpu"};
constexpr Place gpu{LOCKSTEP_EMULATED, "cuda"};

constexpr const char* data = " --dataset synthetic --synthetic-shape 1x28x28 --classes 10 --batch-size 16 ";

/// `bench` is its subject and options.
Outcome bench(const Place& place, int ranks, const std::string& bench) {
  return mpirun(place.program, ranks, words("bench " + bench + " --rounds 1 --device " + place.device));
}
Outcome bench_ops(const Place& place, int ranks, const std::string& more = "") {
  return bench(place, ranks, "ops --samples 40" + (data + more));
}
Outcome bench_kernels(const Place& place, int ranks, const std::string& more) {
  return bench(place, ranks, "step --kernel-times --samples 48 --steps 2 --cuda-graph off" + (data + more));
}

/// Words of those lines of a table that begin with one of `names`.
std::map<std::string, Words> rows(const std::string& text, const Words& names) {
  std::map<std::string, Words> found;
  for (const std::string& line : lines_of(text)) {
    const Words row = words(line);
    if (row.empty() || std::ranges::find(names, row[0]) == names.end()) continue;
    found[row[0]].insert(found[row[0]].end(), row.begin() + 1, row.end());
  }
  return found;
}

TEST(BenchStep, HasOnAGpuTheTimesThatWereMeasured) {
  const auto parts = [&](const Place& place, const std::string& more) {
    const Outcome outcome = bench(place, 0, "step --samples 40 --steps 2" + (data + more));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    Words found;
    for (const auto& [name, row] :
         rows(outcome.out, words("load waiting forward backward fold host reduce update step"))) {
      found.push_back(name);
    }
    return found;
  };
  EXPECT_EQ(parts(gpu, ""), words("host step"));
  EXPECT_EQ(parts(gpu, "--cuda-graph off"), words("host step"));
  EXPECT_EQ(parts(gpu, "--randaugment rand-m9-n2"), words("host step waiting"));
  EXPECT_EQ(parts(cpu, "--threads 1 --micro-batches 2"),
            words("backward fold forward load reduce step update"));
}

TEST(BenchStep, HasARowForEachKernel) {
  const Outcome outcome = bench_kernels(gpu, 0, "--micro-batches 1");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto table = rows(outcome.out, {"sum", "between", "events"});
  ASSERT_EQ(table.size(), 3U) << outcome.out;
  double launches = 0.0;
  const std::regex row(" us +([\\d.]+) launches  ");
  for (std::sregex_iterator found(outcome.out.begin(), outcome.out.end(), row), end; found != end; ++found) {
    launches += std::stod((*found)[1]);
  }
  EXPECT_DOUBLE_EQ(std::stod(table.at("sum")[2]), launches);
  for (const char* line :
       {" us      1.0 launches  convolution backward data: fp32 16x12x12x24 -> 8x8x56, kernel 5, plain "
        "loops\n",
        " us      2.0 launches  SumPacks UndoAveragePool\n", " us      2.0 launches  AveragePool\n",
        " us      1.0 launches  ChooseSamples\n", " us      1.0 launches  Update Sgd\n",
        " us      2.0 launches  copy\n"}) {
    expect_holds(outcome.out, line);
  }
  EXPECT_GT(std::stod(table.at("sum")[0]), 0.0);
}

/// The host copies samples between parts of the step, and gradients travel through its memory.
TEST(BenchStep, MeasuresCopiesOfSeveralRanksThatReadTheirSamples) {
  const Outcome outcome =
      bench_kernels(gpu, 2, "--transport shared-memory --randaugment rand-m9-n2 --model mlp:12");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(count(outcome.out, "\nsum "), 1) << "rank 0 prints";
  expect_holds(outcome.out, " launches  copy\n");
}

TEST(BenchOps, HasARowForEachNodeAndItsSums) {
  const Words names = words("conv1 conv2 flatten1 fc1 fc2 loss sum");
  for (const Place& place : {cpu, gpu}) {
    const Outcome outcome = bench_ops(place, 0, "--micro-batches 1");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto table = rows(outcome.out, names);
    ASSERT_EQ(table.size(), names.size()) << outcome.out;
    expect_holds(outcome.out, "conv1     conv2d 3x3 + relu + avg_pool2d 2x2     20x12x12         200 ");
    expect_holds(outcome.out, "flatten1  flatten                                     800 ");
    EXPECT_EQ(table.at("sum").front(), "129068") << "as inspect says";
    // Times and GFLOP/s of both directions, and the share with its sign.
    EXPECT_EQ(table.at("fc2").size(), 3 + 4 + 2U) << outcome.out;
    EXPECT_EQ(table.at("loss").size(), 2 + 1 + 2U) << "no GFLOP/s, no backward";
    expect_holds(outcome.out, "\nin one go ");
    expect_holds(outcome.out, "one micro-batch of 16 samples (batch 16 = 1 micro-batches)\n");
  }
}

/// On a GPU, linear layers read LeNet's activations in place.
TEST(BenchOps, LeavesFlatteningOutAsThePlanDoes) {
  for (const auto& [place, cells] : {std::pair{cpu, 2 + 2 + 2U}, std::pair{gpu, 2 + 1 + 2U}}) {
    const Outcome outcome = bench_ops(place, 0);
    const auto table = rows(outcome.out, {"flatten1"});
    ASSERT_EQ(table.size(), 1U) << outcome.out << outcome.err;
    EXPECT_EQ(table.at("flatten1").size(), cells) << outcome.out;
  }
}

TEST(BenchOps, TakesOptionsOfExecutionAndOfTheInput) {
  const Outcome bf16 = bench_ops(gpu, 1, "--dtype bf16 --mixup 0.2 --model mlp:12");
  EXPECT_EQ(bf16.status, 0) << bf16.err;
  expect_holds(bf16.out, "processor emulated  bf16  one micro-batch of ");
  expect_holds(bf16.out, "once a step ");
  const Outcome parts = bench_ops(cpu, 1, "--micro-batches 4 --model resnet20");
  EXPECT_EQ(parts.status, 0) << parts.err;
  expect_holds(parts.out, "one micro-batch of 4 samples (batch 16 = 4 micro-batches)\n");
  expect_holds(parts.out, "batch_norm2d + add + relu");
  for (const Place& place : {cpu, gpu}) {
    const Outcome read_by_the_host = bench_ops(place, 0, "--randaugment rand-m9-n2");
    EXPECT_EQ(read_by_the_host.status, 0) << read_by_the_host.err;
    expect_holds(read_by_the_host.out, "\nin one go ");
  }
}

TEST(BenchAllreduce, MeasuresAllSizesOnAllDevices) {
  const Words sizes = words("4096 16384 65536 262144 1048576 4194304 16777216 46137344 67108864");
  const auto expect_table = [&](const Outcome& outcome, const std::string& header) {
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out.rfind(header, 0), 0U) << outcome.out;
    const auto table = rows(outcome.out, sizes);
    EXPECT_EQ(table.size(), sizes.size()) << outcome.out;
    for (const auto& [size, row] : table) EXPECT_EQ(row.size(), 5U) << size;
  };
  expect_table(bench(gpu, 2, "allreduce --transport shared-memory"),
               "ranks 2  processor emulated  exchange shared memory through host memory\n");
  const Outcome one = bench(gpu, 0, "allreduce");
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out, "ranks 1  processor emulated  exchange none\none rank: nothing to sum\n");
  const Outcome messages = bench(cpu, 2, "allreduce --transport messages --simd auto");
  expect_table(messages, "ranks 2  processor ");
  expect_holds(messages.out, "  exchange messages\n");
  expect_holds(messages.out, "canonical  ring/canonical\n");
}

}  // namespace
}  // namespace lockstep::test
