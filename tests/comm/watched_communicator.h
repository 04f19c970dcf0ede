#pragma once

#include <atomic>

#include "comm/communicator.h"
#include "lockstep/error.h"

namespace lockstep {

/// A communicator that can report that a peer has ended.
class WatchedCommunicator final : public CommunicatorOfHost {
 public:
  WatchedCommunicator(Communicator& ranks, const std::atomic<bool>& gone)
      : CommunicatorOfHost(ranks), gone_(gone) {}
  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return host_.plan_sum(std::move(layout));
  }
  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    return host_.plan_gather(all, bounds);
  }
  AllReduce plan_all_reduce(std::span<float> values) override { return host_.plan_all_reduce(values); }
  void check() override {
    if (gone_) throw Error(Category::peer, "rank 1 has ended");
  }

 private:
  const std::atomic<bool>& gone_;
};

}  // namespace lockstep
