#include "train/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

/// Boundary `part` of `parts` equal ranges between `first` and `last`.
std::uint32_t boundary(std::uint32_t first, std::uint32_t last, std::size_t part, std::size_t parts) {
  return first + static_cast<std::uint32_t>(std::uint64_t{last - first} * part / parts);
}

}  // namespace

Evaluation summarize(std::span<const LeafResult> results) {
  LeafResult sum;
  for (const LeafResult& result : results) {
    sum.loss += result.loss;
    sum.correct += result.correct;
    sum.correct5 += result.correct5;
    sum.samples += result.samples;
  }
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, sum.samples));
  return {.samples = sum.samples,
          .loss = sum.loss / count,
          .accuracy = static_cast<double>(sum.correct) / count,
          .top5 = static_cast<double>(sum.correct5) / count};
}

void check_read(const World& world, const Evaluation& evaluation, const std::string& what) {
  if (evaluation.samples > 0 || evaluation.left_out == 0) return;
  world.agree([&] {  // every rank knows, one prints
    throw Error(Category::data, fmt::format("none of the {} {} can be read", evaluation.left_out, what));
  });
}

Evaluator::Evaluator(Device& device, Communicator& communicator, const Plan& plan, const Dataset& dataset,
                     std::uint32_t micro_batch, std::span<const float> parameters, const InputOptions& input)
    : communicator_(communicator), parameters_(parameters), loader_(dataset, micro_batch, input) {
  loader_.set_step(0, dataset.size());
  const std::uint32_t leaves = loader_.leaves(dataset.size());
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  for (std::size_t r = 0; r < ranks; ++r) {
    result_bytes_.push_back((boundary(0, leaves, r + 1, ranks) - boundary(0, leaves, r, ranks)) *
                            sizeof(LeafResult));
  }
  const auto streams = device.streams();
  for (std::size_t e = 0; e <= streams.size(); ++e) {
    executor_bounds_.push_back(
        boundary(boundary(0, leaves, rank, ranks), boundary(0, leaves, rank + 1, ranks), e, streams.size()));
  }
  own_results_.resize(executor_bounds_.back() - executor_bounds_.front());
  all_results_.resize(leaves);
  program_ = device.record([&] {
    for (std::size_t e = 0; e < streams.size(); ++e) {
      runners_.push_back(std::make_unique<LeafRunner>(device, plan, loader_));
      streams[e]->enqueue([this, e] { run_leaves(e); });
    }
  });
}

void Evaluator::run_leaves(std::size_t executor) {
  for (std::uint32_t leaf = executor_bounds_[executor]; leaf < executor_bounds_[executor + 1]; ++leaf) {
    own_results_[leaf - executor_bounds_.front()] =
        runners_[executor]->run(leaf, parameters_.data(), nullptr);
    if (classes_ != 0) {
      runners_[executor]->count_predictions(confusion_[executor], classes_);
    }
  }
}

Evaluation Evaluator::run() {
  program_->run();
  communicator_.all_gather_bytes(std::as_bytes(std::span(own_results_)), result_bytes_,
                                 std::as_writable_bytes(std::span(all_results_)));
  Evaluation evaluation = summarize(all_results_);
  evaluation.left_out = loader_.dataset().size() - evaluation.samples;
  return evaluation;
}

Evaluation Evaluator::run_with_confusion(std::size_t classes) {
  classes_ = classes;
  confusion_.assign(runners_.size(), std::vector<std::uint64_t>(classes * classes));
  Evaluation evaluation = run();
  evaluation.confusion = sum_confusion();
  classes_ = 0;
  return evaluation;
}

std::vector<std::uint64_t> Evaluator::sum_confusion() const {
  std::vector<std::uint64_t> sum(classes_ * classes_);
  const auto add = [&sum](std::span<const std::uint64_t> counts) {
    std::transform(sum.begin(), sum.end(), counts.begin(), sum.begin(), std::plus<>());
  };
  std::ranges::for_each(confusion_, add);
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  const std::vector<std::size_t> bytes(ranks, sum.size() * sizeof(std::uint64_t));
  std::vector<std::uint64_t> all(sum.size() * ranks);
  communicator_.all_gather_bytes(std::as_bytes(std::span(sum)), bytes,
                                 std::as_writable_bytes(std::span(all)));
  std::ranges::fill(sum, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    add(std::span(all).subspan(rank * sum.size(), sum.size()));
  }
  return sum;
}

}  // namespace lockstep
