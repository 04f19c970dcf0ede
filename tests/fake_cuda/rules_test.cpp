// Plants faults in the use of CUDA's runtime one by one; the fake runtime must find each of them.
#include <gtest/gtest.h>

#include <numeric>

#include "fake_cuda/fake_cuda.h"

namespace lockstep::fake_cuda {
namespace {

class Rules : public testing::Test {
 protected:
  Rules() {
    for (cudaStream_t* each : {&stream, &other}) {
      EXPECT_EQ(cudaStreamCreateWithFlags(each, cudaStreamNonBlocking), cudaSuccess);
    }
    for (cudaEvent_t* each : {&fork, &join}) {
      EXPECT_EQ(cudaEventCreateWithFlags(each, cudaEventDisableTiming), cudaSuccess);
    }
    EXPECT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
    EXPECT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
    cudaGetLastError();  // clears the error of the previous test
    std::iota(pageable.begin(), pageable.end(), 'a');
  }
  void TearDown() override {
    for (cudaStream_t each : {stream, other}) cudaStreamDestroy(each);
    for (cudaEvent_t each : {fork, join}) cudaEventDestroy(each);
    cudaFree(device);
    cudaFreeHost(pinned);
    EXPECT_EQ(live_objects(), "");
    set_order(Order::late);
  }

  static void begin(cudaStream_t where, cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed) {
    EXPECT_EQ(cudaStreamBeginCapture(where, mode), cudaSuccess);
  }
  /// Ends a capture, destroys its graph and returns the error.
  static cudaError_t end(cudaStream_t where) {
    cudaGraph_t graph = nullptr;
    const cudaError_t code = cudaStreamEndCapture(where, &graph);
    EXPECT_EQ(graph != nullptr, code == cudaSuccess);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    return code;
  }
  void add(cudaStream_t where, char what) {
    EXPECT_EQ(launch(where, "add", {}, [this, what] { done += what; }), cudaSuccess);
  }
  /// Makes `other` wait for `stream`; if `stream` is capturing, `other` joins the capture.
  void fork_other() {
    EXPECT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
  }
  void join_other() {
    EXPECT_EQ(cudaEventRecord(join, other), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(stream, join, 0), cudaSuccess);
  }
  static void expect_fault(const std::string& text) {
    const std::vector<std::string> faults = take_faults();
    ASSERT_EQ(faults.size(), 1U) << text;
    EXPECT_NE(faults.front().find(text), std::string::npos) << faults.front();
  }

  static constexpr std::size_t bytes = 16;
  cudaStream_t stream{}, other{};
  cudaEvent_t fork{}, join{};
  void *device = nullptr, *pinned = nullptr;
  std::array<char, 32> pageable{};
  std::string done;
};

TEST_F(Rules, WorkOfAStreamRunsInOrderWhenItIsWaitedFor) {
  add(stream, 'a');
  add(stream, 'b');
  EXPECT_EQ(done, "");
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(done, "ab");
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady) << "as in the worst of all versions";
}

TEST_F(Rules, OnlyEventsOrderStreams) {
  add(stream, 'a');
  EXPECT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
  add(stream, 'b');
  EXPECT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
  add(other, 'c');
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(done, "ac");
}

TEST_F(Rules, AGraphRunsInEveryOrderThatItsEventsLeaveOpen) {
  begin(stream);
  add(stream, 'a');
  fork_other();
  add(other, 'c');
  add(stream, 'b');
  join_other();
  add(stream, 'd');
  EXPECT_EQ(done, "") << "a capture runs nothing";
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (const auto& [order, expected] : {std::pair(Order::late, "acbd"), std::pair(Order::reversed, "abcd")}) {
    set_order(order);
    done.clear();
    EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(done, expected);
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaErrorInvalidResourceHandle);
  expect_fault("cudaGraphLaunch: no such handle, or destroyed before");
}

TEST_F(Rules, WaitingForAStreamThatCapturesEndsTheCapture) {
  for (const auto wait : {cudaStreamSynchronize, cudaStreamQuery}) {
    begin(stream);
    EXPECT_EQ(wait(stream), cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
    EXPECT_EQ(launch(stream, "late", {}, [] {}), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
  }
  begin(stream);
  EXPECT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(fork), cudaErrorCapturedEvent);
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Rules, MemoryIsAllocatedInRelaxedCapturesOnly) {
  void* more = nullptr;
  begin(stream);
  EXPECT_EQ(cudaMalloc(&more, bytes), cudaSuccess);
  EXPECT_EQ(cudaFree(more), cudaSuccess);
  EXPECT_EQ(end(stream), cudaSuccess);
  begin(stream, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaMalloc(&more, bytes), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Rules, ACaptureBeginsOnceAndEndsWhereItBegan) {
  EXPECT_EQ(end(stream), cudaErrorIllegalState);
  begin(stream);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
  fork_other();
  EXPECT_EQ(end(other), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Rules, EveryStreamOfACaptureIsJoined) {
  begin(stream);
  fork_other();
  EXPECT_EQ(end(stream), cudaSuccess) << "it has done nothing";
  begin(stream);
  fork_other();
  add(other, 'c');
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureUnjoined);
  begin(stream);
  fork_other();
  add(other, 'c');
  join_other();
  add(other, 'd');
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureUnjoined) << "joined too early";
}

TEST_F(Rules, EventsDoNotLeaveCaptures) {
  begin(stream);
  add(stream, 'a');
  EXPECT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
  EXPECT_EQ(end(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaErrorStreamCaptureIsolation);
  begin(stream);
  EXPECT_EQ(cudaStreamWaitEvent(stream, fork, 0), cudaErrorStreamCaptureIsolation) << "of an earlier capture";
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Rules, EventsDoNotEnterCaptures) {
  add(other, 'a');
  EXPECT_EQ(cudaEventRecord(join, other), cudaSuccess);
  begin(stream);
  EXPECT_EQ(cudaStreamWaitEvent(stream, join, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
  begin(stream);
  begin(other);
  EXPECT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(end(other), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(stream), cudaSuccess);
}

TEST_F(Rules, NoErrorIsLeftBehindForALaunch) {
  EXPECT_EQ(cudaEventElapsedTime(nullptr, fork, join), cudaErrorInvalidResourceHandle);
  add(stream, 'a');
  expect_fault("add: an earlier call left an error behind");
}

TEST_F(Rules, AnEventIsRecordedBeforeItIsWaitedFor) {
  EXPECT_EQ(cudaStreamWaitEvent(stream, fork, 0), cudaSuccess) << "as CUDA answers";
  expect_fault("never recorded");
}

TEST_F(Rules, NothingIsUsedAfterItWasDestroyed) {
  cudaStream_t gone = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(gone), cudaSuccess);
  EXPECT_EQ(launch(gone, "late", {}, [] {}), cudaErrorInvalidResourceHandle);
  expect_fault("cudaLaunchKernelEx: no such handle");
  EXPECT_EQ(cudaStreamDestroy(gone), cudaErrorInvalidResourceHandle);
  expect_fault("cudaStreamDestroy: no such handle");
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(live_objects(), "2 streams, 3 events, 1 allocation, 1 pinned allocation");
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
  expect_fault("cudaEventRecord: no such handle");
}

TEST_F(Rules, MemoryIsFreedOnceAndByItsOwnFunction) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(memory), cudaErrorInvalidValue);
  expect_fault("cudaFreeHost: not allocated by the matching function");
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
  expect_fault("cudaFree: not allocated by the matching function, or freed before");
}

TEST_F(Rules, CopiesStayInTheirAllocations) {
  const auto copy = [&](void* to, const void* from, std::size_t count) {
    return cudaMemcpyAsync(to, from, count, cudaMemcpyDefault, stream);
  };
  EXPECT_EQ(copy(device, pinned, bytes), cudaSuccess);
  copy(static_cast<char*>(device) + 1, pinned, bytes);
  expect_fault("cudaMemcpyAsync: bytes 1 to 17 of an allocation of 16 bytes");
  copy(device, static_cast<char*>(pinned) + 8, bytes);
  expect_fault("bytes 8 to 24");
  cudaMemsetAsync(device, 0, bytes + 1, stream);
  expect_fault("cudaMemsetAsync: bytes 0 to 17");
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  EXPECT_EQ(launch(stream, "too far", {}, [=] { static_cast<char*>(memory)[bytes] = 0; }), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  expect_fault("something was written behind an allocation of 16 bytes");
  cudaFree(std::exchange(device, nullptr));  // the copies above wrote past its end
  expect_fault("something was written behind");
}

TEST_F(Rules, PageableMemoryIsCopiedAtOnceAndNotInCaptures) {
  EXPECT_EQ(cudaMemcpyAsync(device, pageable.data(), 4, cudaMemcpyDefault, stream), cudaSuccess);
  pageable.fill('x');
  std::array<char, 4> back{};
  EXPECT_EQ(cudaMemcpyAsync(back.data(), device, 4, cudaMemcpyDefault, stream), cudaSuccess);
  EXPECT_EQ(std::string(back.data(), 4), "abcd");
  begin(stream);
  EXPECT_NE(cudaMemcpyAsync(device, pageable.data(), 4, cudaMemcpyDefault, stream), cudaSuccess);
  expect_fault("memory of the host in a capture is not pinned");
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Rules, PinnedMemoryIsReadWhenTheCopyRuns) {
  auto* const first = static_cast<char*>(pinned);
  *first = 'a';
  EXPECT_EQ(cudaMemcpyAsync(device, pinned, 1, cudaMemcpyDefault, stream), cudaSuccess);
  *first = 'b';  // before the copy runs
  char back = 0;
  EXPECT_EQ(cudaMemcpyAsync(&back, device, 1, cudaMemcpyDefault, stream), cudaSuccess);
  EXPECT_EQ(back, 'b');
  expect_fault("copy: the host has written to its source before it was done");
}

TEST_F(Rules, ACopyOfADestroyedStreamWaitsUntilMemoryIsFreed) {
  for (const bool waits : {true, false}) {
    cudaStream_t copies{};
    void* memory = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMallocHost(&memory, bytes), cudaSuccess);
    *static_cast<char*>(pinned) = 'a';
    EXPECT_EQ(cudaMemcpyAsync(memory, pinned, bytes, cudaMemcpyDefault, copies), cudaSuccess);
    if (waits) cudaStreamSynchronize(copies);
    EXPECT_EQ(cudaStreamDestroy(copies), cudaSuccess);
    EXPECT_EQ(*static_cast<char*>(memory) == 'a', waits);
    EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
    if (!waits) expect_fault("cudaFreeHost: a copy, whose stream was destroyed, may still use the memory");
  }
}

TEST_F(Rules, AGraphKeepsPrioritiesOnlyIfAskedTo) {
  cudaStream_t urgent = nullptr;
  EXPECT_EQ(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -5), cudaSuccess);
  begin(urgent);
  add(urgent, 'a');
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(urgent, &graph), cudaSuccess);
  for (const unsigned long long flags : {0U, unsigned{cudaGraphInstantiateFlagUseNodePriority}}) {
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&executable, graph, flags), cudaSuccess);
    cudaGraphExecDestroy(executable);
    if (flags == 0) expect_fault("the graph loses the priority of a stream");
  }
  cudaGraphDestroy(graph);
  cudaStreamDestroy(urgent);
}

TEST_F(Rules, MemoryOfAGraphOutlivesItsRuns) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  begin(stream);
  EXPECT_EQ(launch(stream, "kernel", std::as_bytes(std::span(&memory, 1)), [] {}), cudaSuccess);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  expect_fault("kernel: its memory was freed before it ran");
  EXPECT_EQ(live_objects(),
            "2 streams, 2 events, 1 graph, 1 executable graph, 1 allocation, 1 pinned allocation");
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST_F(Rules, ArgumentsOfKernelsAreNoAddressesOfTheHost) {
  static int of_the_program = 0;
  int of_the_stack = 0;
  const auto of_the_heap = std::make_unique<int>();
  for (const void* const address :
       {static_cast<void*>(&of_the_program), static_cast<void*>(&of_the_stack),
        static_cast<void*>(of_the_heap.get()), static_cast<void*>(pageable.data())}) {
    EXPECT_EQ(launch(stream, "kernel", std::as_bytes(std::span(&address, 1)), [] {}), cudaSuccess);
    expect_fault("kernel: an argument is an address of the host");
  }
  const std::array<const void*, 3> allowed{device, pinned, nullptr};
  EXPECT_EQ(launch(stream, "kernel", std::as_bytes(std::span(allowed)), [] {}), cudaSuccess);
}

TEST_F(Rules, TheHostCannotAccessMemoryOfTheDevice) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(*static_cast<volatile char*>(device) = 1, "");
}

TEST_F(Rules, MemoryOfTheDeviceIsGarbageAtFirst) {
  char first = 0;
  EXPECT_EQ(cudaMemcpyAsync(&first, device, 1, cudaMemcpyDefault, stream), cudaSuccess);
  EXPECT_NE(first, 0);
}

TEST_F(Rules, EventsTimeTheWorkBetweenThem) {
  std::array<cudaEvent_t, 2> timed{};
  for (cudaEvent_t& each : timed) {
    EXPECT_EQ(cudaEventCreateWithFlags(&each, cudaEventDefault), cudaSuccess);
  }
  float milliseconds = 0.0F;
  const auto elapsed = [&](cudaEvent_t from, cudaEvent_t to) {
    return cudaEventElapsedTime(&milliseconds, from, to);
  };
  EXPECT_EQ(elapsed(timed[0], timed[1]), cudaErrorInvalidResourceHandle) << "not recorded";
  cudaGetLastError();
  EXPECT_EQ(cudaEventRecord(timed[0], stream), cudaSuccess);
  EXPECT_EQ(launch(stream, "kernel", {}, [] { pass(3000.0); }), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(timed[1], stream), cudaSuccess);
  EXPECT_EQ(elapsed(timed[0], timed[1]), cudaErrorNotReady);
  pass(2000.0);  // time passes on the host before the stream's work runs
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(elapsed(timed[0], timed[1]), cudaSuccess);
  EXPECT_EQ(milliseconds, 5.0F);
  EXPECT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
  EXPECT_EQ(elapsed(timed[0], fork), cudaErrorInvalidResourceHandle) << "made without timing";
  for (cudaEvent_t each : timed) cudaEventDestroy(each);
  cudaGetLastError();
}

TEST_F(Rules, AKernelThatFailsBreaksAllLaterCalls) {
  fail("kernel", cudaErrorIllegalAddress);
  add(stream, 'a');
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "not yet";
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  recover();
}

TEST(FakeCuda, EndsAProgramThatLeavesSomethingBehind) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        cudaStream_t stream = nullptr;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        std::exit(0);
      },
      testing::ExitedWithCode(1), "not destroyed at the end: 1 stream");
}

}  // namespace
}  // namespace lockstep::fake_cuda
