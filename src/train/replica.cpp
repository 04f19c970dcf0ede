#include "lockstep/replica.h"

#include <fmt/format.h>

#include "comm/communicator.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "ops/cpu/cpu_plan.h"
#include "reduce/reducer.h"
#include "train/parameter_set.h"

namespace lockstep {

class Replica::Implementation {
 public:
  Implementation(const Network& network, const Dataset& dataset, int micro_batch)
      : network_(network),
        dataset_(dataset),
        layout_(layout_arena(network.parameters())),
        device_(make_cpu_device({.threads = 1, .pin = false})),
        plan_(cpu::make_plan(build_graph(network), layout_, {.samples = micro_batch, .images = dataset.shape()},
                             cpu::best_level())),
        workspace_(device_->allocate(plan_->workspace_bytes())),
        images_(static_cast<std::size_t>(micro_batch)),
        labels_(static_cast<std::size_t>(micro_batch)) {}

  Result forward_backward(std::span<const std::uint64_t> ids, std::span<const float> parameters,
                          std::span<float> gradient) {
    if (ids.empty() || ids.size() > images_.size()) {
      throw Error(Category::usage, fmt::format("a micro-batch of {} samples was given to a replica for up to {}",
                                               ids.size(), images_.size()));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      images_[i] = dataset_.image(ids[i]).data();
      labels_[i] = dataset_.label(ids[i]);
    }
    const LeafResult result = plan_->run({{images_.data(), ids.size()}, {labels_.data(), ids.size()}},
                                         parameters.data(), gradient.data(), workspace_.data());
    return {result.loss, result.correct};
  }

  const Network& network_;
  const Dataset& dataset_;
  ArenaLayout layout_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Plan> plan_;
  Buffer workspace_;
  std::vector<const std::uint8_t*> images_;
  std::vector<std::int32_t> labels_;
};

Replica::Replica(const Network& network, const Dataset& dataset, int micro_batch)
    : implementation_(std::make_unique<Implementation>(network, dataset, micro_batch)) {}
Replica::~Replica() = default;

std::size_t Replica::elements() const { return implementation_->layout_.elements; }

void Replica::initialize(std::uint64_t seed, std::span<float> parameters) const {
  initialize_parameters(implementation_->network_.parameters(), implementation_->layout_, seed,
                        parameters.data());
}

Replica::Result Replica::forward_backward(std::span<const std::uint64_t> ids,
                                          std::span<const float> parameters, std::span<float> gradient) {
  return implementation_->forward_backward(ids, parameters, gradient);
}

std::string Replica::digest(std::span<float> parameters) const {
  return ParameterSet(implementation_->network_.parameters(), implementation_->layout_, parameters).digest();
}

class GradientSum::Implementation {
 public:
  Implementation(const World& world, std::size_t elements, std::uint32_t micro_batches)
      : communicator_(make_communicator(world, Transport::automatic)),
        assignment_(assign(micro_batches, world.size(), world.rank(), 1)),
        sums_(assignment_.executors[0], assignment_.executors[1]),
        arenas_(sums_.arenas(), std::vector<float>(elements)),
        total_(elements) {
    ReducerOptions options{elements, assignment_, {}};
    for (const PartialSumPlan::Result& result : sums_.results()) {
      options.partials.push_back({result.node, arenas_[result.arena].data()});
    }
    reducer_ = make_canonical_reducer(*communicator_, std::move(options));
  }

  std::span<float> next() { return arenas_[leaf().write_to]; }

  void add() {
    for (const auto& addition : leaf().additions) {
      for (std::size_t i = 0; i < total_.size(); ++i) {
        arenas_[addition.into][i] += arenas_[addition.from][i];
      }
    }
    ++added_;
  }

  std::span<const float> all_reduce() {
    if (added_ != sums_.leaves().size()) {
      throw Error(Category::usage, fmt::format("{} of this rank's {} micro-batches were added", added_,
                                               sums_.leaves().size()));
    }
    added_ = 0;
    reducer_->reduce(total_, [this](std::size_t begin, std::span<const float> sum) {
      std::copy(sum.begin(), sum.end(), total_.begin() + static_cast<std::ptrdiff_t>(begin));
    });
    return total_;
  }

  const Assignment& assignment() const { return assignment_; }

 private:
  const PartialSumPlan::LeafStep& leaf() const {
    if (added_ >= sums_.leaves().size()) {
      throw Error(Category::usage, "all of this rank's micro-batches were added already");
    }
    return sums_.leaves()[added_];
  }

  std::unique_ptr<Communicator> communicator_;
  Assignment assignment_;
  PartialSumPlan sums_;
  std::vector<std::vector<float>> arenas_;
  std::vector<float> total_;
  std::unique_ptr<Reducer> reducer_;
  std::size_t added_ = 0;
};

GradientSum::GradientSum(const World& world, std::size_t elements, std::uint32_t micro_batches)
    : implementation_(std::make_unique<Implementation>(world, elements, micro_batches)) {}
GradientSum::~GradientSum() = default;

std::pair<std::uint32_t, std::uint32_t> GradientSum::range() const {
  const Assignment& assignment = implementation_->assignment();
  return {assignment.executors[0], assignment.executors[1]};
}
std::span<float> GradientSum::next() { return implementation_->next(); }
void GradientSum::add() { implementation_->add(); }
std::span<const float> GradientSum::all_reduce() { return implementation_->all_reduce(); }

}  // namespace lockstep
