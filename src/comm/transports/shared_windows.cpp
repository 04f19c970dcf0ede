#include "comm/transports/shared_windows.h"

namespace lockstep {

std::unique_ptr<SharedWindows> SharedWindows::create(const MpiGroup& host, Watch& watch) {
  // Two halves of at most 256 KiB stay in the L2 cache of the core that fills them. All windows together have
  // at most 64 MiB.
  constexpr std::size_t largest = 256 << 10, total = 64 << 20;
  const auto size = static_cast<std::size_t>(host.size());
  const std::size_t half_bytes = std::min(largest, total / size / 2) & ~std::size_t{4095};
  const InCollective in(watch, Collective::share_memory, Group::host);
  auto memory = SharedMemory::create(host, size * (sizeof(Flags) + 2 * half_bytes));
  if (memory == nullptr) return nullptr;
  return std::unique_ptr<SharedWindows>(
      new SharedWindows(std::move(memory), watch, static_cast<std::size_t>(host.rank()), size, half_bytes));
}

SharedWindows::SharedWindows(std::unique_ptr<SharedMemory> memory, Watch& watch, std::size_t rank,
                             std::size_t size, std::size_t half_bytes)
    : memory_(std::move(memory)), watch_(watch), rank_(rank), size_(size), half_bytes_(half_bytes) {}

/// Counters of a rank. They need no construction: a fresh mapping is zeroed, and zero bytes are a counter of
/// zero on every supported platform.
SharedWindows::Flags& SharedWindows::flags(std::size_t rank) const {
  return reinterpret_cast<Flags*>(memory_->data())[rank];
}

std::byte* SharedWindows::half(std::size_t rank, std::uint32_t round) const {
  return memory_->data() + size_ * sizeof(Flags) + (2 * rank + round % 2) * half_bytes_;
}

void SharedWindows::await(AwaitedCounter Flags::*counter, std::uint32_t round) {
  for (std::size_t peer = 0; peer < size_; ++peer) {
    if (peer != rank_) (flags(peer).*counter).await(round);
  }
}

std::byte* SharedWindows::begin_stage() {
  await(&Flags::used, staged_ - 1);  // the round before the last used the same half
  return half(rank_, staged_);
}

void SharedWindows::end_stage() { staged_ = flags(rank_).staged.advance(); }

void SharedWindows::begin_use() { await(&Flags::staged, used_ + 1); }

void SharedWindows::end_use() { used_ = flags(rank_).used.advance(); }

void SharedWindows::barrier() {
  const InCollective in(watch_, Collective::barrier, Group::host);
  stage([](std::byte* /*half*/) {});
  begin_use();
  end_use();
}

}  // namespace lockstep
