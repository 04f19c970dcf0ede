// The emulated device shows a use of an upload's memory after its release.
#include <gtest/gtest.h>

#include <vector>

#include "emulation/graph_device.h"

namespace lockstep {
namespace {

/// Numbers that a stream reads from an upload, which it releases after reading, or before.
std::vector<int> numbers_read(StreamOrder order, bool release_first) {
  GraphDevice gpu;
  gpu.stream_order = order;
  const auto upload = gpu.make_upload(1);
  const Buffer block = gpu.allocate_host(1);
  std::vector<int> found;
  int next = 0;
  const auto program = gpu.record([&] {
    for (int i = 0; i < 3; ++i) {
      upload->fill(gpu.stream, [&] {
        block.data()[0] = static_cast<std::byte>(++next);
        return std::span<const std::byte>(block.data(), 1);
      });
      if (release_first) upload->release(gpu.stream);
      gpu.stream.launch([&] { found.push_back(static_cast<int>(upload->data()[0])); });
      if (!release_first) upload->release(gpu.stream);
    }
  });
  program->run();
  return found;
}

TEST(EmulatedUpload, ComesAsSoonAsPossibleOrAsLate) {
  for (const StreamOrder order : {StreamOrder::first_stream, StreamOrder::other_streams}) {
    EXPECT_EQ(numbers_read(order, false), (std::vector<int>{1, 2, 3}));
  }
}

TEST(EmulatedUpload, ShowsAReleaseThatComesTooEarly) {
  EXPECT_EQ(numbers_read(StreamOrder::other_streams, true), (std::vector<int>{2, 3, 3}));
}

}  // namespace
}  // namespace lockstep
