#include "train/count_allocations.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

namespace {
std::atomic<std::uint64_t> calls{0};
}

void* operator new(std::size_t bytes) {
  ++calls;
  if (void* memory = std::malloc(bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace lockstep::test {

std::uint64_t allocations() { return calls; }

TEST(CountAllocations, SeesThem) {
  const std::uint64_t before = allocations();
  std::make_unique<int[]>(1000)[7] = 1;
  EXPECT_GT(allocations(), before);
}

}  // namespace lockstep::test
