#include <algorithm>
#include <map>

#include "comm/communicator.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/error.h"
#include "lockstep/replica.h"
#include "lockstep/world.h"
#include "reduce/reducer.h"

namespace lockstep {

class GradientSum::Implementation {
 public:
  Implementation(const World& world, std::size_t elements)
      : device_(make_cpu_device({.threads = 1, .pin = false})),
        communicator_(make_communicator(world, Transport::automatic)),
        elements_(elements),
        total_(device_->allocate(elements * sizeof(float))) {}

  std::pair<std::uint32_t, std::uint32_t> start(std::uint32_t micro_batches) {
    const auto found = steps_.find(micro_batches);
    step_ = found != steps_.end() ? &found->second : &make_step(micro_batches);
    added_ = 0;
    return {step_->assignment.executors[0], step_->assignment.executors[1]};
  }

  std::span<float> next() { return arenas_[leaf().write_to].floats(); }

  void add() {
    for (const auto& addition : leaf().additions) {
      const auto into = arenas_[addition.into].floats();
      const auto from = arenas_[addition.from].floats();
      std::transform(into.begin(), into.end(), from.begin(), into.begin(), std::plus<>());
    }
    ++added_;
  }

  std::span<const float> all_reduce() {
    if (step_ == nullptr || added_ != step_->sums.leaves().size()) {
      throw Error(Category::usage,
                  "all_reduce was called before all of this rank's micro-batches were added");
    }
    step_->reducer->reduce([this](std::size_t begin, std::span<const float> sum) {
      std::copy(sum.begin(), sum.end(), total_.floats().begin() + static_cast<std::ptrdiff_t>(begin));
    });
    return total_.floats();
  }

 private:
  struct Step {
    Assignment assignment;
    PartialSumPlan sums;
    std::unique_ptr<Reducer> reducer;
  };

  Step& make_step(std::uint32_t micro_batches) {
    const Assignment assignment = assign(micro_batches, communicator_->size(), communicator_->rank(), 1);
    Step step{assignment, PartialSumPlan(assignment.executors[0], assignment.executors[1]), nullptr};
    while (arenas_.size() < step.sums.arenas()) {
      arenas_.push_back(device_->allocate(elements_ * sizeof(float)));
    }
    ReducerOptions options{total_.floats(), assignment, {}};
    for (const PartialSumPlan::Result& result : step.sums.results()) {
      options.partials.push_back({result.node, arenas_[result.arena].floats().data()});
    }
    step.reducer = make_canonical_reducer(*communicator_, std::move(options));
    return steps_.emplace(micro_batches, std::move(step)).first->second;
  }

  const PartialSumPlan::LeafStep& leaf() const {
    if (step_ == nullptr || added_ >= step_->sums.leaves().size()) {
      throw Error(Category::usage, "more micro-batches were added than this rank's part of the step has");
    }
    return step_->sums.leaves()[added_];
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> communicator_;
  std::size_t elements_;
  Buffer total_;
  std::vector<Buffer> arenas_;
  std::map<std::uint32_t, Step> steps_;
  Step* step_ = nullptr;
  std::size_t added_ = 0;
};

GradientSum::GradientSum(const World& world, std::size_t elements)
    : implementation_(std::make_unique<Implementation>(world, elements)) {}
GradientSum::~GradientSum() = default;

std::pair<std::uint32_t, std::uint32_t> GradientSum::start(std::uint32_t micro_batches) {
  return implementation_->start(micro_batches);
}
std::span<float> GradientSum::next() { return implementation_->next(); }
void GradientSum::add() { implementation_->add(); }
std::span<const float> GradientSum::all_reduce() { return implementation_->all_reduce(); }

}  // namespace lockstep
