#include <algorithm>
#include <barrier>
#include <cstring>

#include "comm/communicator.h"
#include "comm/sum_chunks.h"

namespace lockstep {
namespace {

/// What the threads show each other; read between two barriers only.
struct Meeting {
  explicit Meeting(int ranks) : barrier(ranks), shown(static_cast<std::size_t>(ranks)) {}
  std::barrier<> barrier;
  std::vector<const void*> shown;

  void wait() { barrier.arrive_and_wait(); }
  /// Every rank's pointer.
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

class ThreadSums final : public SumExchange {
 public:
  ThreadSums(Meeting& meeting, std::size_t rank, const SumLayout& layout)
      : meeting_(meeting),
        chunks_(layout.slices[rank], layout.slices[rank + 1], all_partials(meeting, rank, layout), chunk) {}

  std::optional<SumChunk> next(Stream& stream) override {
    if (chunks_.at_first()) {
      stream.call([this] { meeting_.wait(); }, Phase::reduce);
    }
    return chunks_.next();
  }

 private:
  static constexpr std::size_t chunk = 4096;

  static std::vector<const float*> all_partials(Meeting& meeting, std::size_t rank, const SumLayout& layout) {
    std::vector<const float*> partials;
    for (const SumLayout* peer : meeting.show(rank, &layout)) {
      partials.insert(partials.end(), peer->own.begin(), peer->own.end());
    }
    meeting.wait();  // the layouts may go
    return partials;
  }

  Meeting& meeting_;
  SumChunks chunks_;
};

class ThreadGather final : public Gather {
 public:
  ThreadGather(Meeting& meeting, std::size_t rank, std::span<std::byte> all,
               std::span<const std::size_t> bounds)
      : meeting_(meeting),
        rank_(rank),
        of_ranks_(meeting.show(rank, all.data())),
        bounds_(bounds.begin(), bounds.end()) {}

  void record(Stream& stream) override {
    stream.call([this] { gather(); }, Phase::reduce);
  }

 private:
  void gather() {
    meeting_.wait();
    for (std::size_t peer = 0; peer < of_ranks_.size(); ++peer) {
      const std::size_t bytes = bounds_[peer + 1] - bounds_[peer];
      if (peer == rank_ || bytes == 0) continue;
      std::memcpy(of_ranks_[rank_] + bounds_[peer], of_ranks_[peer] + bounds_[peer], bytes);
    }
    meeting_.wait();
  }

  Meeting& meeting_;
  std::size_t rank_;
  std::vector<std::byte*> of_ranks_;
  std::vector<std::size_t> bounds_;
};

class ThreadAllReduce final : public AllReduce {
 public:
  ThreadAllReduce(Meeting& meeting, std::size_t rank, std::span<float> values)
      : meeting_(meeting),
        of_ranks_(meeting.show(rank, values.data())),
        values_(values),
        sum_(values.size()) {}

  void start(Stream& stream) override {
    stream.call([this] { reduce(); }, Phase::reduce);
  }
  void finish(Stream& /*stream*/) override {}

 private:
  void reduce() {
    meeting_.wait();
    std::ranges::fill(sum_, 0.0F);
    for (const float* peer : of_ranks_) {
      for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += peer[i];
    }
    meeting_.wait();
    std::ranges::copy(sum_, values_.begin());
  }

  Meeting& meeting_;
  std::vector<float*> of_ranks_;
  std::span<float> values_;
  std::vector<float> sum_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Meeting> meeting, std::size_t rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(meeting_->shown.size()); }
  std::string name() const override { return "threads"; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return std::make_unique<ThreadSums>(*meeting_, rank_, layout);
  }
  std::unique_ptr<Gather> plan_gather(std::span<std::byte> all,
                                      std::span<const std::size_t> bounds) override {
    return std::make_unique<ThreadGather>(*meeting_, rank_, all, bounds);
  }
  std::unique_ptr<AllReduce> plan_all_reduce(std::span<float> values) override {
    return std::make_unique<ThreadAllReduce>(*meeting_, rank_, values);
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
  std::shared_ptr<Meeting> meeting_;  // the last of several threads ends it
  std::size_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank) {
    communicators.push_back(std::make_unique<ThreadCommunicator>(meeting, static_cast<std::size_t>(rank)));
  }
  return communicators;
}

}  // namespace lockstep
