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
        summation_(options.summation),
        zeros_(summation_.allocate(options.partials.empty() ? options.parameters.size() : 0)) {}

  void reduce(const Apply& apply) override {
    sum();
    apply_sum(apply);
  }

  std::span<float> sum() override {
    float* sum = first();
    if (partials_.empty()) summation_.fill(sum, 0.0F, elements_);  // holds the sum of the last step
    for (std::size_t i = 1; i < partials_.size(); ++i) summation_.add(sum, partials_[i].data, elements_);
    communicator_.all_reduce({sum, elements_});
    return {sum, elements_};
  }

  void apply_sum(const Apply& apply) override {
    if (elements_ > 0) apply(0, {first(), elements_});
  }

  std::pair<std::size_t, std::size_t> owned() const override { return {0, elements_}; }

 private:
  float* first() const { return partials_.empty() ? zeros_.floats().data() : partials_.front().data; }

  Communicator& communicator_;
  std::size_t elements_;
  std::vector<Partial> partials_;
  const Summation& summation_;
  Buffer zeros_;  ///< of a rank without micro-batches
};

}  // namespace

std::unique_ptr<Reducer> make_ring_reducer(Communicator& communicator, ReducerOptions options) {
  if (options.assignment.leaves == 0) throw Error(Category::internal, "a step without micro-batches");
  return std::make_unique<RingReducer>(communicator, options);
}

}  // namespace lockstep
