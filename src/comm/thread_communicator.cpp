#include <algorithm>
#include <barrier>
#include <cstring>

#include "comm/communicator.h"

namespace lockstep {
namespace {

/// What the threads show each other; read between two barriers only.
struct Meeting {
  explicit Meeting(int ranks)
      : barrier(ranks), partials(static_cast<std::size_t>(ranks)), data(static_cast<std::size_t>(ranks)) {}
  std::barrier<> barrier;
  std::vector<const PartialSums*> partials;
  std::vector<const void*> data;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Meeting> meeting, std::size_t rank)
      : meeting_(std::move(meeting)), rank_(rank), size_(meeting_->data.size()) {}

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(size_); }
  std::string name() const override { return "threads"; }

  void exchange(PartialSums& partials, const UseChunk& use) override {
    constexpr std::size_t chunk = 4096;
    meeting_->partials[rank_] = &partials;
    barrier();
    const std::size_t end = partials.slices[rank_ + 1];
    for (std::size_t begin = partials.slices[rank_]; begin < end; begin += chunk) {
      inputs_.clear();
      for (const PartialSums* peer : meeting_->partials) {
        for (const float* sum : peer->own) inputs_.push_back(sum + begin);
      }
      use(inputs_, begin, std::min(end, begin + chunk));
    }
    float* results = partials.results.data();
    if (!partials.results.empty() && std::ranges::any_of(meeting_->partials, without_results)) {
      barrier();  // the others' exchange of partial sums ends, that of results begins
      barrier();
      barrier();
    }
    show(results);
    const Slices& slices = partials.slices;
    for (std::size_t peer = 0; peer < size_ && results != nullptr; ++peer) {
      const auto* from = static_cast<const float*>(meeting_->data[peer]);
      if (peer != rank_) std::copy(from + slices[peer], from + slices[peer + 1], results + slices[peer]);
    }
    barrier();
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    show(own.data());
    auto to = all.begin();
    for (std::size_t peer = 0; peer < size_; ++peer) {
      to = std::copy_n(static_cast<const std::byte*>(meeting_->data[peer]), bytes[peer], to);
    }
    barrier();
  }

  void all_reduce(std::span<float> values) override {
    show(values.data());
    sum_.assign(values.size(), 0.0f);
    for (const void* peer : meeting_->data) {
      const auto* from = static_cast<const float*>(peer);
      for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += from[i];
    }
    barrier();
    std::copy(sum_.begin(), sum_.end(), values.begin());
  }

  void barrier() override { meeting_->barrier.arrive_and_wait(); }

 private:
  static bool without_results(const PartialSums* partials) { return partials->results.empty(); }

  void show(const void* data) {
    meeting_->data[rank_] = data;
    barrier();
  }

  std::shared_ptr<Meeting> meeting_;  // the last of several threads ends it
  std::size_t rank_, size_;
  std::vector<const float*> inputs_;
  std::vector<float> sum_;
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
