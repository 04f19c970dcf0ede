#pragma once

#include <algorithm>
#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/transports/sums_in_rounds.h"

namespace lockstep {

/// Data that threads publish for each other. It may be read only between two barriers.
struct Meeting {
  explicit Meeting(int ranks) : barrier(ranks), shown(static_cast<std::size_t>(ranks)) {}
  std::barrier<> barrier;
  std::vector<const void*> shown;

  void wait() { barrier.arrive_and_wait(); }
  /// Pointers of all ranks, in rank order.
  template <class T>
  std::vector<T*> show(std::size_t rank, T* own) {
    shown[rank] = own;
    wait();
    std::vector<T*> all;
    for (const void* pointer : shown) all.push_back(static_cast<T*>(const_cast<void*>(pointer)));
    wait();
    return all;
  }
};

/// Communicator of a rank that is a thread of this process.
class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Meeting> meeting, std::size_t rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(meeting_->shown.size()); }
  std::string name() const override { return "threads"; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    constexpr std::size_t chunk = 4096;
    std::vector<const float*> partials;
    for (const SumLayout* peer : meeting_->show(rank_, &layout)) {
      partials.insert(partials.end(), peer->own.begin(), peer->own.end());
    }
    meeting_->wait();  // until then, the layouts must stay valid
    return std::make_unique<SumsInPlace>(rank_, layout.slices, chunk, partials,
                                         call_in_each_run([this] { meeting_->wait(); }));
  }
  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    return call_in_each_run([this, of_ranks = meeting_->show(rank_, all.data()),
                             bounds = std::vector(bounds.begin(), bounds.end())] {
      meeting_->wait();
      for (std::size_t peer = 0; peer < of_ranks.size(); ++peer) {
        const std::size_t bytes = bounds[peer + 1] - bounds[peer];
        if (peer == rank_ || bytes == 0) continue;
        std::memcpy(of_ranks[rank_] + bounds[peer], of_ranks[peer] + bounds[peer], bytes);
      }
      meeting_->wait();
    });
  }
  AllReduce plan_all_reduce(std::span<float> values) override {
    return {.start = call_in_each_run([this, of_ranks = meeting_->show(rank_, values.data()), values,
                                       sum = std::vector<float>(values.size())]() mutable {
              meeting_->wait();
              std::ranges::fill(sum, 0.0F);
              for (const float* peer : of_ranks) {
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += peer[i];
              }
              meeting_->wait();
              std::ranges::copy(sum, values.begin());
            })};
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    meeting_->shown[rank_] = own.data();
    meeting_->wait();
    auto to = all.begin();
    for (std::size_t peer = 0; peer < bytes.size(); ++peer) {
      to = std::copy_n(static_cast<const std::byte*>(meeting_->shown[peer]), bytes[peer], to);
    }
    meeting_->wait();
  }
  void barrier() override { meeting_->wait(); }

 private:
  std::shared_ptr<Meeting> meeting_;  // destroyed by the last thread
  std::size_t rank_;
};

/// Runs `body` as every rank of `ranks`, each a thread of this process.
inline void run_as_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&body, meeting, rank] {
      ThreadCommunicator own(meeting, static_cast<std::size_t>(rank));
      body(own);
    });
  }
}

}  // namespace lockstep
