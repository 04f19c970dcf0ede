#include "reduce/ring_exchange.h"

namespace lockstep {
namespace {

class RingExchange final : public SumExchange {
 public:
  RingExchange(Communicator& communicator, Summation& summation, const std::vector<Partial>& partials,
               std::size_t elements, std::span<const std::size_t> buckets)
      : summation_(summation), partials_(partials), elements_(elements) {
    if (partials_.empty()) zeros_ = summation.allocate(elements);
    sum_ = partials_.empty() ? zeros_.floats().data() : partials_.front().data;
    inputs_ = {sum_};
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const std::size_t end = i + 1 < buckets.size() ? buckets[i + 1] : elements;
      const std::span<float> values(sum_ + buckets[i], end - buckets[i]);
      buckets_.push_back({buckets[i], end, communicator.plan_all_reduce(values)});
    }
    left_ = buckets_.size();
  }

  void ready(Stream& stream, std::size_t begin) override {
    while (left_ > 0 && buckets_[left_ - 1].begin >= begin) start(stream, buckets_[--left_]);
  }

  std::optional<SumChunk> next(Stream& stream) override {
    if (!finished_) {
      ready(stream, 0);
      for (std::size_t i = buckets_.size(); i-- > 0;) buckets_[i].sum.finish(stream);
      finished_ = true;
      if (elements_ > 0) return SumChunk{0, elements_, inputs_};
    }
    left_ = buckets_.size();
    finished_ = false;
    return std::nullopt;
  }

 private:
  struct Bucket {
    std::size_t begin, end;
    AllReduce sum;
  };

  void start(Stream& stream, const Bucket& bucket) {
    float* const sum = sum_ + bucket.begin;
    const std::size_t count = bucket.end - bucket.begin;
    if (partials_.empty()) summation_.fill(stream, sum, 0.0F, count);  // holds the sum of the last step
    for (std::size_t i = 1; i < partials_.size(); ++i) {
      summation_.add(stream, sum, partials_[i].data + bucket.begin, count);
    }
    bucket.sum.start(stream);
  }

  Summation& summation_;
  std::vector<Partial> partials_;
  std::size_t elements_;
  Buffer zeros_;  ///< contribution of a rank without micro-batches
  float* sum_ = nullptr;
  std::vector<const float*> inputs_;  ///< the sum
  std::vector<Bucket> buckets_;
  std::size_t left_ = 0;  ///< buckets of the current step that have not been started
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<SumExchange> plan_ring_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials, std::size_t elements,
                                                std::span<const std::size_t> buckets) {
  return std::make_unique<RingExchange>(communicator, summation, partials, elements, buckets);
}

}  // namespace lockstep
