#include <gtest/gtest.h>

#include <string>

#include "device/cuda/cuda_device.h"
#include "fake_cuda/fake_cuda.h"

namespace lockstep::cuda {
namespace {

TEST(CommunicationStream, WorksWhenItsEventComesInEachRun) {
  for (const bool graphs : {true, false}) {
    const std::unique_ptr<Device> device = make_cuda_device(0, graphs);
    Stream& stream = *device->streams()[0];
    CudaStream& communication = communication_stream(*device);
    std::string done;
    const auto note = [&](const Stream& where, char what) {
      fake_cuda::launch(handle_of(where), "note", {}, [&done, what] { done += what; });
    };
    const auto program = device->record([&] {
      note(stream, 'a');
      communication.wait(stream.record());
      note(communication, 'b');
      stream.wait(communication.record());
      note(stream, 'c');
    });
    for (const char* expected : {"abc", "abcabc"}) {
      program->run();
      device->copy(nullptr, nullptr, 0);  // waits
      EXPECT_EQ(done, expected) << "graphs " << graphs;
    }
  }
}

}  // namespace
}  // namespace lockstep::cuda
