#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <type_traits>

#include "device/cuda/native/block_size.h"
#include "fake_cuda/grid.h"

/// Replaces src/device/cuda/native/block.h: the threads of a block run in turn, or on threads of the host.
namespace lockstep::cuda {

template <class Use>
void for_each_thread(const Use& use) {
  if (fake_cuda::threads_of_blocks() == fake_cuda::Threads::at_once) return use(fake_cuda::thread_index);
  fake_cuda::visit(row_threads, use);
}

template <class Value>
class PerThread {
 public:
  static_assert(std::is_trivially_destructible_v<Value>);
  template <class Make>
  explicit PerThread(const Make& make) {
    for_each_thread([&](unsigned t) { std::construct_at(&(*this)[t], make(t)); });
  }
  Value& operator[](unsigned thread) { return reinterpret_cast<Value*>(memory_)[thread]; }
  const Value& operator[](unsigned thread) const { return reinterpret_cast<const Value*>(memory_)[thread]; }

 private:
  alignas(Value) std::byte memory_[row_threads * sizeof(Value)];
};
template <class Make>
PerThread(const Make&) -> PerThread<std::invoke_result_t<Make, unsigned>>;

template <class Sum>
void add_over_warp(PerThread<Sum>& sums, unsigned apart) {
  if (fake_cuda::threads_of_blocks() != fake_cuda::Threads::at_once) {
    for (unsigned t = 0; t < warp_threads - apart; ++t) sums[t] += sums[t + apart];
    return;
  }
  const unsigned t = fake_cuda::thread_index;
  if (t >= warp_threads) return;
  static std::array<SumWords<Sum>, warp_threads> given;  // static, as only one grid runs at a time
  given[t] = std::bit_cast<SumWords<Sum>>(sums[t]);
  fake_cuda::wait_for_warp();
  const SumWords<Sum> other = given[std::min(t + apart, warp_threads - 1)];
  fake_cuda::wait_for_warp();
  sums[t] += std::bit_cast<Sum>(other);
}

}  // namespace lockstep::cuda
