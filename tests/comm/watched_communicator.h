#pragma once

#include <atomic>

#include "comm/communicator.h"
#include "lockstep/error.h"

namespace lockstep {

/// A communicator that can report that a peer has ended.
class WatchedCommunicator final : public Communicator {
 public:
  WatchedCommunicator(Communicator& ranks, const std::atomic<bool>& gone) : ranks_(ranks), gone_(gone) {}
  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return ranks_.plan_sum(std::move(layout));
  }
  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    return ranks_.plan_gather(all, bounds);
  }
  AllReduce plan_all_reduce(std::span<float> values) override { return ranks_.plan_all_reduce(values); }
  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    ranks_.all_gather_bytes(own, bytes, all);
  }
  void barrier() override { ranks_.barrier(); }
  void check() override {
    if (gone_) throw Error(Category::peer, "rank 1 has ended");
  }

 private:
  Communicator& ranks_;
  const std::atomic<bool>& gone_;
};

}  // namespace lockstep
