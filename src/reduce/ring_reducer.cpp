#include <algorithm>

#include "comm/aligned_floats.h"
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
        zeros_(options.partials.empty() ? options.parameters.size() : 0) {}

  void reduce(const Apply& apply) override {
    sum();
    apply_sum(apply);
  }

  std::span<float> sum() override {
    float* sum = partials_.empty() ? zeros_.data() : partials_.front().data;
    if (partials_.empty()) std::fill_n(sum, elements_, 0.0f);  // holds the sum of the last step
    for (std::size_t i = 1; i < partials_.size(); ++i) {
      std::transform(sum, sum + elements_, partials_[i].data, sum, std::plus<>());
    }
    communicator_.all_reduce({sum, elements_});
    return {sum, elements_};
  }

  void apply_sum(const Apply& apply) override {
    float* sum = partials_.empty() ? zeros_.data() : partials_.front().data;
    if (elements_ > 0) apply(0, {sum, elements_});
  }

  std::pair<std::size_t, std::size_t> owned() const override { return {0, elements_}; }

 private:
  Communicator& communicator_;
  std::size_t elements_;
  std::vector<Partial> partials_;
  AlignedFloats zeros_;  ///< of a rank without micro-batches
};

}  // namespace

std::unique_ptr<Reducer> make_ring_reducer(Communicator& communicator, ReducerOptions options) {
  if (options.assignment.leaves == 0) throw Error(Category::internal, "a step without micro-batches");
  return std::make_unique<RingReducer>(communicator, options);
}

}  // namespace lockstep
