#include <algorithm>
#include <map>

#include "comm/communicator.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/pinning.h"
#include "gradient/gradient_sums.h"
#include "lockstep/error.h"
#include "lockstep/replica.h"
#include "lockstep/world.h"

namespace lockstep {

class GradientSum::Implementation {
 public:
  Implementation(const World& world, std::size_t elements)
      : device_(make_cpu_device({.threads = 1, .pin = false})),
        communicator_(make_communicator(world, Transport::automatic)),
        elements_(elements),
        total_(device_->allocate(elements * sizeof(float))),
        slices_(even_slices(elements, communicator_->size())),
        gather_(plan_arena_gather(*communicator_, total_.floats(), slices_)) {}

  std::pair<std::uint32_t, std::uint32_t> start(std::uint32_t micro_batches) {
    if (micro_batches == 0) {
      throw Error(Category::usage, "a step of 0 micro-batches was started: give at least 1");
    }
    const auto found = steps_.find(micro_batches);
    step_ = found != steps_.end() ? &found->second : &make_step(micro_batches);
    added_ = 0;
    return {step_->assignment.executors[0], step_->assignment.executors[1]};
  }

  std::span<float> next() { return arenas_[leaf().write_to].floats(); }

  void add() {
    const ThreadState caller;  // restores the caller's treatment of denormals
    flush_denormals_to_zero();
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
    step_->program->run();
    return total_.floats();
  }

 private:
  struct Step {
    Assignment assignment;
    PartialSumPlan sums;
    std::unique_ptr<GradientSums> gradients;
    std::unique_ptr<Program> program;
  };

  Step& make_step(std::uint32_t micro_batches) {
    const Assignment assignment = assign(micro_batches, communicator_->size(), communicator_->rank(), 1);
    Step step{.assignment = assignment,
              .sums = PartialSumPlan(assignment.executors[0], assignment.executors[1]),
              .gradients = nullptr,
              .program = nullptr};
    while (arenas_.size() < step.sums.arenas()) {
      arenas_.push_back(device_->allocate(elements_ * sizeof(float)));
    }
    GradientSumsOptions options{
        .elements = elements_, .assignment = assignment, .partials = {}, .summation = *summation_};
    for (const PartialSumPlan::Result& result : step.sums.results()) {
      options.partials.push_back({result.node, arenas_[result.arena].floats().data()});
    }
    step.gradients = plan_canonical_sums(*communicator_, options, slices_);
    step.program = device_->record(
        [this, gradients = step.gradients.get()] { record(*device_->streams()[0], *gradients); });
    return steps_.emplace(micro_batches, std::move(step)).first->second;
  }

  void record(Stream& stream, GradientSums& gradients) {
    gradients.ready(stream, 0);
    while (const auto chunk = gradients.next(stream)) {
      summation_->fold(stream, gradients.fold(), *chunk, total_.floats().data() + chunk->begin);
    }
    gather_(stream);
  }

  const PartialSumPlan::LeafStep& leaf() const {
    if (step_ == nullptr || added_ >= step_->sums.leaves().size()) {
      throw Error(Category::usage, "more micro-batches were added than this rank's part of the step has");
    }
    return step_->sums.leaves()[added_];
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Summation> summation_ = make_cpu_summation();
  std::size_t elements_;
  Buffer total_;
  Slices slices_;
  Gather gather_;
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
