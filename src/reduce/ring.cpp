#include <algorithm>
#include <utility>

#include "reduce/reducer.h"

namespace lockstep {
namespace {

/// Adds this rank's partial sums into the first, has the library sum over the ranks, updates everything.
class RingReducer : public Reducer {
 public:
  RingReducer(Communicator& communicator, ReducerOptions options)
      : communicator_(communicator), elements_(options.elements), partials_(std::move(options.partials)) {
    if (partials_.empty()) {
      nothing_.resize(elements_);  // a rank without micro-batches takes part with zeros
      partials_.push_back({{}, nothing_.data()});
    }
  }

  void reduce(std::span<float> parameters, const Apply& apply) override {
    if (!nothing_.empty()) {
      std::fill(nothing_.begin(), nothing_.end(), 0.0F);
    }
    const std::span<float> sum(partials_[0].data, parameters.size());
    for (std::size_t i = 1; i < partials_.size(); ++i) {
      std::transform(sum.begin(), sum.end(), partials_[i].data, sum.begin(), std::plus<>());
    }
    communicator_.all_reduce(sum);
    apply(0, sum);
  }

  std::pair<std::size_t, std::size_t> owned() const override { return {0, elements_}; }

 private:
  Communicator& communicator_;
  std::size_t elements_;
  std::vector<Partial> partials_;
  std::vector<float> nothing_;
};

}  // namespace

std::unique_ptr<Reducer> make_ring_reducer(Communicator& communicator, ReducerOptions options) {
  return std::make_unique<RingReducer>(communicator, std::move(options));
}

}  // namespace lockstep
