#include "train/count_allocations.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<std::uint64_t> calls{0};

// The thread sanitizer has operators of its own, and nothing is counted under it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_OPERATORS_ARE_TAKEN
#endif
#endif

#ifndef LOCKSTEP_OPERATORS_ARE_TAKEN
// All forms of the operator that the library calls, so that memory is freed by the allocator that it came
// from.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++calls;
  return std::malloc(bytes);
}
void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++calls;
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace lockstep::test {

std::uint64_t allocations() { return calls; }

#ifndef LOCKSTEP_OPERATORS_ARE_TAKEN
TEST(CountAllocations, SeesThem) {
  const std::uint64_t before = allocations();
  operator delete(operator new(1000));  // calls, which a compiler must keep, unlike new-expressions
  EXPECT_GT(allocations(), before);
}
#endif

}  // namespace lockstep::test
