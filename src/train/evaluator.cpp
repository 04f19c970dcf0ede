#include "train/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/outcome.h"

namespace lockstep {
namespace {

/// Boundary `part` of `parts` equal ranges between `first` and `last`.
std::uint32_t boundary(std::uint32_t first, std::uint32_t last, std::size_t part, std::size_t parts) {
  return first + static_cast<std::uint32_t>(std::uint64_t{last - first} * part / parts);
}

}  // namespace

void check_read(const World& world, const Evaluation& evaluation, const std::string& what) {
  if (evaluation.samples > 0 || evaluation.left_out == 0) return;
  world.agree([&] {  // every rank knows, one prints
    throw Error(Category::data, fmt::format("none of the {} {} can be read", evaluation.left_out, what));
  });
}

Evaluator::Evaluator(Backend& backend, Communicator& communicator, CompiledGraph& graph,
                     const Dataset& dataset, std::uint32_t micro_batch, std::span<const float> parameters,
                     const InputOptions& input)
    : backend_(backend),
      communicator_(communicator),
      parameters_(parameters),
      loader_(dataset, micro_batch, input) {
  loader_.set_step(0, dataset.size());
  const std::uint32_t leaves = loader_.leaves(dataset.size());
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  for (std::size_t r = 0; r < ranks; ++r) {
    result_bytes_.push_back((boundary(0, leaves, r + 1, ranks) - boundary(0, leaves, r, ranks)) *
                            sizeof(LeafResult));
  }
  const std::size_t streams = backend.device().streams().size();
  for (std::size_t e = 0; e <= streams; ++e) {
    executor_bounds_.push_back(
        boundary(boundary(0, leaves, rank, ranks), boundary(0, leaves, rank + 1, ranks), e, streams));
  }
  own_results_.resize(executor_bounds_.back() - executor_bounds_.front());
  all_results_.resize(leaves);
  device_results_ = backend.device().allocate(own_results_.size() * sizeof(LeafResult));
  for (std::size_t e = 0; e < streams; ++e) runners_.push_back(graph.make_runner(loader_, {}));
  program_ = record(nullptr);
}

/// `predictions`: room for all samples of this rank's leaves, on the device, or null.
std::unique_ptr<Program> Evaluator::record(Prediction* predictions) {
  return backend_.device().record([this, predictions] {
    for (std::size_t e = 0; e < runners_.size(); ++e) record_leaves(e, predictions);
  });
}

void Evaluator::record_leaves(std::size_t executor, Prediction* predictions) {
  LeafRunner& runner = *runners_[executor];
  Stream& stream = *backend_.device().streams()[executor];
  runner.prepare(stream, parameters_.data());
  for (std::uint32_t leaf = executor_bounds_[executor]; leaf < executor_bounds_[executor + 1]; ++leaf) {
    const std::size_t i = leaf - executor_bounds_.front();
    runner.load(stream, leaf);
    runner.forward(stream, runner.nodes_and_loss(), parameters_.data(), device_results_.as<LeafResult>() + i);
    if (predictions != nullptr) runner.predict(stream, predictions + i * loader_.micro_batch());
  }
}

/// Runs what `record` made.
void Evaluator::run(Program& program) {
  for (std::size_t e = 0; e < runners_.size(); ++e) {
    const std::uint64_t first = loader_.position(executor_bounds_[e]);
    const std::uint64_t end = std::min(loader_.position(executor_bounds_[e + 1]), loader_.dataset().size());
    const SampleRange range{.first = first, .samples = end - std::min(first, end)};
    runners_[e]->expect({&range, 1});
  }
  program.run();
}

Evaluation Evaluator::run() {
  run(*program_);
  return gather_results();
}

Evaluation Evaluator::gather_results() {
  backend_.device().copy(own_results_.data(), device_results_.data(), device_results_.bytes());
  communicator_.all_gather_bytes(std::as_bytes(std::span(own_results_)), result_bytes_,
                                 std::as_writable_bytes(std::span(all_results_)));
  Evaluation evaluation = evaluation_of(outcome_of(all_results_));
  evaluation.left_out = loader_.dataset().size() - evaluation.samples;
  return evaluation;
}

Evaluation Evaluator::run_with_confusion(std::size_t classes) {
  const Buffer predictions =
      backend_.device().allocate(own_results_.size() * loader_.micro_batch() * sizeof(Prediction));
  run(*record(predictions.as<Prediction>()));
  Evaluation evaluation = gather_results();
  evaluation.confusion = count_confusion(predictions, classes);
  return evaluation;
}

std::vector<std::uint64_t> Evaluator::count_confusion(const Buffer& predictions, std::size_t classes) const {
  std::vector<Prediction> own(predictions.bytes() / sizeof(Prediction));
  backend_.device().copy(own.data(), predictions.data(), predictions.bytes());
  std::vector<std::uint64_t> sum(classes * classes);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::uint32_t leaf =
        executor_bounds_.front() + static_cast<std::uint32_t>(i / loader_.micro_batch());
    if (i % loader_.micro_batch() >= loader_.samples(leaf) || own[i].label < 0) continue;
    ++sum[static_cast<std::size_t>(own[i].label) * classes + static_cast<std::size_t>(own[i].predicted)];
  }
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  const std::vector<std::size_t> bytes(ranks, sum.size() * sizeof(std::uint64_t));
  std::vector<std::uint64_t> all(sum.size() * ranks);
  communicator_.all_gather_bytes(std::as_bytes(std::span(sum)), bytes,
                                 std::as_writable_bytes(std::span(all)));
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) sum[i] += all[rank * sum.size() + i];
  }
  return sum;
}

}  // namespace lockstep
