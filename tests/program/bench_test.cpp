// lockstep bench on the CPU and on the emulated GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "support/run.h"

namespace lockstep::test {
namespace {

using Arguments = std::vector<std::string>;

/// Program and device of a command.
struct Place {
  const char* program;
  const char* device;
};
constexpr Place cpu{LOCKSTEP_PROGRAM, "cpu"};
constexpr Place gpu{LOCKSTEP_EMULATED, "cuda"};

Outcome bench(const Place& place, int ranks, const Arguments& more) {
  Arguments arguments{"bench", more.front(), "--device", place.device, "--rounds", "1"};
  arguments.insert(arguments.end(), more.begin() + 1, more.end());
  return mpirun(place.program, ranks, arguments);
}

Outcome bench_ops(const Place& place, int ranks, const Arguments& more = {}) {
  Arguments arguments{"ops", "--dataset", "synthetic", "--synthetic-shape", "1x28x28", "--samples",
                      "40",  "--classes", "10",        "--batch-size",      "16"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return bench(place, ranks, arguments);
}

/// Words of those lines of a table that begin with one of `names`.
std::map<std::string, Arguments> rows(const std::string& text, const Arguments& names) {
  std::map<std::string, Arguments> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, word;
    words >> name;
    if (std::ranges::find(names, name) == names.end()) continue;
    while (words >> word) found[name].push_back(word);
  }
  return found;
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' in: " << text;
}

TEST(BenchStep, HasOnAGpuTheTimesThatWereMeasured) {
  const Arguments names{"load", "waiting", "forward", "backward", "fold", "host", "reduce", "update", "step"};
  const Arguments step{"step", "--dataset", "synthetic", "--synthetic-shape", "1x28x28", "--samples",
                       "40",   "--classes", "10",        "--steps",           "2",       "--batch-size",
                       "16"};
  const auto parts = [&](const Place& place, const Arguments& more) {
    Arguments arguments = step;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = bench(place, 0, arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    Arguments found;
    for (const auto& [name, words] : rows(outcome.out, names)) found.push_back(name);
    return found;
  };
  EXPECT_EQ(parts(gpu, {}), (Arguments{"host", "step"}));
  EXPECT_EQ(parts(gpu, {"--cuda-graph", "off"}), (Arguments{"host", "step"}));
  EXPECT_EQ(parts(gpu, {"--randaugment", "rand-m9-n2"}), (Arguments{"host", "step", "waiting"}));
  EXPECT_EQ(parts(cpu, {"--threads", "1", "--micro-batches", "2"}),
            (Arguments{"backward", "fold", "forward", "load", "reduce", "step", "update"}));
}

Outcome bench_kernels(const Place& place, int ranks, const Arguments& more) {
  Arguments arguments{"step",
                      "--kernel-times",
                      "--dataset",
                      "synthetic",
                      "--synthetic-shape",
                      "1x28x28",
                      "--samples",
                      "48",
                      "--classes",
                      "10",
                      "--steps",
                      "2",
                      "--batch-size",
                      "16"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return bench(place, ranks, arguments);
}

TEST(BenchStep, HasARowForEachKernel) {
  const Outcome outcome = bench_kernels(gpu, 0, {"--cuda-graph", "off", "--micro-batches", "1"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto table = rows(outcome.out, {"sum", "between", "events"});
  ASSERT_EQ(table.size(), 3U) << outcome.out;
  EXPECT_EQ(table.at("sum")[2], "26.0") << "as Launches.OfALeNetStep, and copies of input and outcome";
  for (const char* row :
       {" us      1.0 launches  convolution backward data: fp32 16x12x12x24 -> 8x8x56, kernel 5, plain "
        "loops\n",
        " us      2.0 launches  SumPacks UndoAveragePool\n", " us      2.0 launches  AveragePool\n",
        " us      1.0 launches  ChooseSamples\n", " us      1.0 launches  Update Sgd\n",
        " us      2.0 launches  copy\n"}) {
    expect_has(outcome.out, row);
  }
  EXPECT_GT(std::stod(table.at("sum")[0]), 0.0);
  EXPECT_GT(std::stod(table.at("between")[1]), 0.0);
}

/// The host copies samples between parts of the step, and gradients travel through its memory.
TEST(BenchStep, MeasuresCopiesOfSeveralRanksThatReadTheirSamples) {
  const Outcome outcome = bench_kernels(gpu, 2,
                                        {"--cuda-graph", "off", "--transport", "shared-memory",
                                         "--randaugment", "rand-m9-n2", "--model", "mlp:12"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(count(outcome.out, "\nsum "), 1) << "rank 0 prints";
  expect_has(outcome.out, " launches  copy\n");
}

TEST(BenchStep, MeasuresKernelsOnlyOnAGpuWithoutGraphs) {
  const Outcome graphs = bench_kernels(gpu, 0, {});
  EXPECT_EQ(graphs.status, 2);
  expect_has(graphs.err, "--kernel-times: has no effect with cuda-graph on: omit it");
  const Outcome on_cpu = bench_kernels(cpu, 0, {"--cuda-graph", "off"});
  EXPECT_EQ(on_cpu.status, 2);
  expect_has(on_cpu.err, "--kernel-times: kernels are measured on a GPU: use --device cuda");
}

TEST(BenchOps, HasARowForEachNodeAndItsSums) {
  const Arguments names{"conv1", "conv2", "flatten1", "fc1", "fc2", "loss", "sum"};
  for (const Place& place : {cpu, gpu}) {
    const Outcome outcome = bench_ops(place, 0, {"--micro-batches", "1"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto table = rows(outcome.out, names);
    ASSERT_EQ(table.size(), names.size()) << outcome.out;
    expect_has(outcome.out, "conv1     conv2d 3x3 + relu + avg_pool2d 2x2     20x12x12         200 ");
    expect_has(outcome.out, "flatten1  flatten                                     800 ");
    EXPECT_EQ(table.at("sum").front(), "129068") << "as inspect says";
    // Times and GFLOP/s of both directions, and the share with its sign.
    EXPECT_EQ(table.at("fc2").size(), 3 + 4 + 2U) << outcome.out;
    EXPECT_EQ(table.at("loss").size(), 2 + 1 + 2U) << "no GFLOP/s, no backward";
    expect_has(outcome.out, "\nin one go ");
    expect_has(outcome.out, "one micro-batch of 16 samples (batch 16 = 1 micro-batches)\n");
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
  const Outcome bf16 = bench_ops(gpu, 1, {"--dtype", "bf16", "--mixup", "0.2", "--model", "mlp:12"});
  EXPECT_EQ(bf16.status, 0) << bf16.err;
  expect_has(bf16.out, "processor emulated  bf16  one micro-batch of ");
  expect_has(bf16.out, "once a step ");
  const Outcome parts = bench_ops(cpu, 1, {"--micro-batches", "4", "--model", "resnet20"});
  EXPECT_EQ(parts.status, 0) << parts.err;
  expect_has(parts.out, "one micro-batch of 4 samples (batch 16 = 4 micro-batches)\n");
  expect_has(parts.out, "batch_norm2d + add + relu");
  for (const Place& place : {cpu, gpu}) {
    const Outcome read_by_the_host = bench_ops(place, 0, {"--randaugment", "rand-m9-n2"});
    EXPECT_EQ(read_by_the_host.status, 0) << read_by_the_host.err;
    expect_has(read_by_the_host.out, "\nin one go ");
  }
}

TEST(BenchOps, RefusesWhatCannotBe) {
  const auto expect_refusal = [](const Place& place, const Arguments& more, const std::string& words) {
    const Outcome outcome = bench_ops(place, 0, more);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    expect_has(outcome.err, words);
  };
  expect_refusal(cpu, {"--model", "lenett"}, "did you mean 'lenet'");
  expect_refusal(cpu, {"--dtype", "bf16"}, "bf16 is for CUDA");
  expect_refusal(cpu, {"--micro-batches", "3"},
                 "--micro-batches: 3 micro-batches do not divide a batch of 16; 2 do");
  const Outcome ranks = bench_ops(cpu, 2);
  EXPECT_EQ(ranks.status, 2);
  expect_has(ranks.err, "operations are measured on one rank");
  const Outcome few = bench(gpu, 0, {"ops", "--dataset", "synthetic", "--samples", "10"});
  EXPECT_EQ(few.status, 2);
  expect_has(few.err, "a micro-batch of 16 samples of a data set of 10");
}

TEST(BenchAllreduce, MeasuresAllSizesOnAllDevices) {
  const Arguments sizes{"4096",    "16384",    "65536",    "262144",  "1048576",
                        "4194304", "16777216", "46137344", "67108864"};
  const auto expect_table = [&](const Outcome& outcome, const std::string& header) {
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out.rfind(header, 0), 0U) << outcome.out;
    const auto table = rows(outcome.out, sizes);
    EXPECT_EQ(table.size(), sizes.size()) << outcome.out;
    for (const auto& [size, words] : table) EXPECT_EQ(words.size(), 5U) << size;
  };
  expect_table(bench(gpu, 2, {"allreduce", "--transport", "shared-memory"}),
               "ranks 2  processor emulated  exchange shared memory through host memory\n");
  const Outcome one = bench(gpu, 0, {"allreduce"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out, "ranks 1  processor emulated  exchange none\none rank: nothing to sum\n");
  const Outcome messages = bench(cpu, 2, {"allreduce", "--transport", "messages", "--simd", "auto"});
  expect_table(messages, "ranks 2  processor ");
  expect_has(messages.out, "  exchange messages\n");
  expect_has(messages.out, "canonical  ring/canonical\n");
}

TEST(BenchAllreduce, RefusesWhatCannotBe) {
  for (const Arguments& more : {Arguments{"--reduce", "rng"}, Arguments{"--device", "tpu"}}) {
    Arguments arguments{"bench", "allreduce"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(lockstep(2, arguments).status, 2);
  }
  const Outcome none = lockstep(2, {"bench", "allreduce", "--device", "cuda"}, {"CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(none.status, 4) << none.err;
  const std::string missing = LOCKSTEP_CUDA_MISSING;
  expect_has(none.err,
             missing.empty() ? "CUDA is off: " : "this program was built without CUDA (" + missing + ")");
  const Outcome unknown = lockstep(0, {"bench", "opps"});
  EXPECT_EQ(unknown.status, 2);
  expect_has(unknown.err, "'ops'");
}

}  // namespace
}  // namespace lockstep::test
