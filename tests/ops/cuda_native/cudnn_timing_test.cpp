// The timer of cuDNN engines, tested on the fake CUDA runtime with engines of known run time.
#include "ops/cuda/dnn/native/cudnn_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "core/bfloat16.h"
#include "fake_cuda/fake_cuda.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

constexpr int warm_up = 1, runs_of_a_round = 20, rounds = 4;  // the first round precedes the timing events

/// An engine with given run times that computes nothing.
struct Described {
  std::vector<double> microseconds = {};  ///< durations of the first runs; later runs repeat the last one
  bool builds = true, runs = true;
  std::function<void(cudaStream_t)> while_capturing = [](cudaStream_t) {};
  int submitted = 0, done = 0;
};

Described taking(double microseconds) { return {.microseconds = {microseconds}}; }
Described not_built() { return {.microseconds = {1.0}, .builds = false}; }
Described not_run() { return {.microseconds = {2.0}, .runs = false}; }

[[noreturn]] void refuse() { throw Error(Category::resource, "cuDNN refuses"); }

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

class DescribedGraph final : public CudnnGraph {
 public:
  DescribedGraph(std::initializer_list<Described> engines) : described(engines), engines_(engines.size()) {}

  const std::vector<Engine>& engines() const override { return engines_; }
  const std::string& refusal() const override { return refusal_; }
  bool build(std::size_t engine) override { return described[engine].builds; }
  std::size_t workspace_bytes(std::size_t engine) const override { return 100 * engine; }
  void run(std::size_t number, StreamHandle stream, std::span<void* const> tensors,
           void* workspace) const override {
    EXPECT_EQ(workspace == nullptr, workspace_bytes(number) == 0);
    Described& engine = described[number];
    if (!engine.runs) refuse();
    if (is_capturing(stream)) engine.while_capturing(stream);
    ++engine.submitted;
    fake_cuda::pass(6.0);  // host time per launch
    const std::vector<void*> addresses(tensors.begin(), tensors.end());
    fake_cuda::launch(stream, "engine", std::as_bytes(std::span(addresses)), [this, &engine, addresses] {
      const auto last = engine.microseconds.size() - 1;
      fake_cuda::pass(engine.microseconds[std::min(static_cast<std::size_t>(engine.done++), last)]);
      contents.clear();
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        const auto* begin = static_cast<const std::byte*>(addresses[i]);
        contents.emplace_back(begin, begin + sizes[i]);
      }
    });
  }
  const std::vector<std::size_t>& tensor_bytes() const override { return sizes; }

  mutable std::vector<Described> described;
  mutable std::vector<std::vector<std::byte>> contents;  ///< of the tensors during the last run
  std::vector<std::size_t> sizes{64, 4002, 1100000};

 private:
  std::vector<Engine> engines_;
  std::string refusal_;
};

void expect_fastest(DescribedGraph& graph, std::size_t engine, double microseconds) {
  const auto fastest = fastest_engine(graph);
  ASSERT_TRUE(fastest.has_value());
  EXPECT_EQ(fastest->engine, engine);
  EXPECT_NEAR(fastest->microseconds, microseconds, 1e-4);
}

/// Expects that a test leaves no CUDA objects behind, not counting objects that existed before it.
class FastestEngine : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(fake_cuda::live_objects(), before_); }

 private:
  const std::string before_ = fake_cuda::live_objects();
};

TEST_F(FastestEngine, IsChosenByTheTimeOfTheGpuAlone) {
  DescribedGraph graph{taking(5.0), taking(4.0), taking(4.5)};
  expect_fastest(graph, 1, 4.0);
}

TEST_F(FastestEngine, RunsTwentyTimesWithoutAGraphIfItCannotBeCaptured) {
  const std::vector<std::function<void(cudaStream_t)>> reasons{
      [](cudaStream_t) { refuse(); },
      [](cudaStream_t stream) {
        EXPECT_NE(cudaStreamSynchronize(stream), cudaSuccess);
        cudaGetLastError();
      },
      [](cudaStream_t) { fake_cuda::fail("cudaGraphInstantiate", cudaErrorNotSupported); }};
  for (const auto& reason : reasons) {
    DescribedGraph graph{taking(4.0)};
    graph.described[0].while_capturing = reason;
    expect_fastest(graph, 0, 4.0);
    EXPECT_EQ(graph.described[0].done, warm_up + rounds * runs_of_a_round);
    EXPECT_GE(graph.described[0].submitted, graph.described[0].done) << "without a graph";
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
}

TEST_F(FastestEngine, IsNotChangedBySlowFirstRunsOrOneSlowRound) {
  Described engine = taking(1e6);
  engine.microseconds.insert(engine.microseconds.end(), runs_of_a_round, 1000.0);  // before the events
  engine.microseconds.insert(engine.microseconds.end(), runs_of_a_round, 500.0);   // the first timed round
  engine.microseconds.push_back(4.0);
  DescribedGraph graph{engine, taking(5.0)};
  expect_fastest(graph, 0, 4.0);
}

TEST_F(FastestEngine, IsNoneThatCannotBeBuiltOrRun) {
  DescribedGraph graph{not_built(), not_run(), taking(4.0)};
  expect_fastest(graph, 2, 4.0);
  DescribedGraph none{not_built(), not_run()};
  EXPECT_FALSE(fastest_engine(none).has_value());
}

TEST_F(FastestEngine, ReportsAGpuThatFails) {
  DescribedGraph graph{taking(4.0)};
  fake_cuda::fail("cudaMalloc", cudaErrorMemoryAllocation);
  EXPECT_THROW(fastest_engine(graph), Error);
  fake_cuda::fail("cudaStreamSynchronize", cudaErrorIllegalAddress);
  EXPECT_THROW(fastest_engine(graph), Error);
  fake_cuda::recover();
}

template <class Number>
std::vector<Number> numbers_in(const std::vector<std::byte>& bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return numbers;
}

TEST_F(FastestEngine, ReadsRandomNumbersOfEitherType) {
  DescribedGraph graph{taking(4.0)};
  expect_fastest(graph, 0, 4.0);
  ASSERT_EQ(graph.contents.size(), graph.sizes.size());
  for (const std::vector<std::byte>& tensor : graph.contents) {
    const auto expect_random = [](const auto& numbers) {
      std::set<float> values;
      for (const auto each : numbers) values.insert(to_float(each));
      EXPECT_GE(values.size(), std::min(numbers.size() / 2, std::size_t{200}));
      for (const float value : values) {
        ASSERT_GE(std::abs(value), 0.5F);
        ASSERT_LT(std::abs(value), 1.0F);
      }
      EXPECT_LT(*values.begin(), 0.0F);
      EXPECT_GT(*values.rbegin(), 0.0F);
    };
    expect_random(numbers_in<float>(tensor));
    expect_random(numbers_in<Bfloat16>(tensor));
  }
  EXPECT_FALSE(std::equal(graph.contents[0].begin(), graph.contents[0].end(), graph.contents[1].begin()));
  const auto first = graph.contents;
  expect_fastest(graph, 0, 4.0);
  EXPECT_EQ(graph.contents, first) << "the same numbers each time";
}

}  // namespace
}  // namespace lockstep::cuda
