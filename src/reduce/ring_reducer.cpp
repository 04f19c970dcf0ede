#include <algorithm>

#include "lockstep/error.h"
#include "reduce/reducer.h"

namespace lockstep {
namespace {

class RingReducer final : public Reducer {
 public:
  RingReducer(Communicator& communicator, const ReducerOptions& options)
      : communicator_(communicator),
        elements_(options.parameters.size()),
        partials_(options.partials),
        buckets_(options.buckets.empty() ? std::vector<std::size_t>{0} : options.buckets),
        summation_(options.summation),
        zeros_(summation_.allocate(options.partials.empty() ? options.parameters.size() : 0)) {}

  void reduce(const Apply& apply) override {
    sum();
    apply_sum(apply);
  }

  void ready(std::size_t begin) override {
    while (left_ > 0 && buckets_[left_ - 1] >= begin) {
      start(buckets_[left_ - 1], left_ < buckets_.size() ? buckets_[left_] : elements_);
      --left_;
    }
  }
  std::size_t awaits() const override { return left_ > 0 ? buckets_[left_ - 1] : 0; }

  std::span<float> sum() override {
    ready(0);
    communicator_.finish_all_reduces();
    left_ = buckets_.size();
    return {first(), elements_};
  }

  void apply_sum(const Apply& apply) override {
    if (elements_ > 0) apply(0, {first(), elements_});
  }

  std::pair<std::size_t, std::size_t> owned() const override { return {0, elements_}; }

 private:
  float* first() const { return partials_.empty() ? zeros_.floats().data() : partials_.front().data; }

  void start(std::size_t begin, std::size_t end) {
    float* const sum = first() + begin;
    if (partials_.empty()) summation_.fill(sum, 0.0F, end - begin);  // holds the sum of the last step
    for (std::size_t i = 1; i < partials_.size(); ++i) {
      summation_.add(sum, partials_[i].data + begin, end - begin);
    }
    communicator_.start_all_reduce({sum, end - begin});
  }

  Communicator& communicator_;
  std::size_t elements_;
  std::vector<Partial> partials_;
  std::vector<std::size_t> buckets_;
  std::size_t left_ = buckets_.size();  ///< in this step, not yet begun
  const Summation& summation_;
  Buffer zeros_;  ///< of a rank without micro-batches
};

}  // namespace

std::unique_ptr<Reducer> make_ring_reducer(Communicator& communicator, ReducerOptions options) {
  if (options.assignment.leaves == 0) throw Error(Category::internal, "a step without micro-batches");
  return std::make_unique<RingReducer>(communicator, options);
}

}  // namespace lockstep
