#include "train/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "lockstep/error.h"
#include "train/step/outcome.h"

namespace lockstep {

void check_read(const World& world, const Evaluation& evaluation, const std::string& what) {
  if (evaluation.samples > 0 || evaluation.skipped == 0) return;
  world.agree([&] {  // all ranks know it, one prints it
    throw Error(Category::data, fmt::format("none of the {} {} can be read", evaluation.skipped, what));
  });
}

Evaluator::Evaluator(const Session& session, CompiledGraph& graph, const Dataset& dataset,
                     std::uint32_t micro_batch, std::span<const float> parameters, const InputOptions& input)
    : session_(session),
      parameters_(parameters),
      loader_(dataset, micro_batch, input),
      runners_(make_runners(session, graph, loader_)),
      pass_(session, runners_, session.assign(loader_.leaves(dataset.size()))),
      program_(record(nullptr)),
      results_(pass_.results().size()) {}

/// Records a pass over the data set. `predictions`: device memory for those of all samples of this rank's
/// leaves; null: predictions are not written.
std::unique_ptr<Program> Evaluator::record(Prediction* predictions) {
  loader_.set_step(0, loader_.dataset().size());
  return session_.device().record([this, predictions] {
    pass_.record(parameters_.data(), [this, predictions](Stream& stream, LeafRunner& runner,
                                                         std::size_t /*executor*/, std::uint32_t leaf) {
      runner.load(stream, leaf);
      runner.forward(stream, runner.nodes_and_loss(), parameters_.data(), pass_.result(leaf));
      if (predictions == nullptr) return;
      runner.predict(stream, predictions + std::size_t{leaf - first_leaf()} * loader_.micro_batch());
    });
    pass_.gather_results(*session_.device().streams()[0]);
  });
}

/// Runs a recorded pass.
Evaluation Evaluator::run(Program& program) {
  const std::vector<std::uint32_t>& bounds = pass_.assignment().executors;
  for (std::size_t e = 0; e < runners_.size(); ++e) {
    const std::uint64_t first = loader_.position(bounds[e]);
    const std::uint64_t end = std::min(loader_.position(bounds[e + 1]), loader_.dataset().size());
    const SampleRange range{.first = first, .samples = end - std::min(first, end)};
    runners_[e]->expect({&range, 1});
  }
  program.run();
  session_.device().copy(results_.data(), pass_.results().data(), pass_.results().size_bytes());
  Evaluation evaluation = evaluation_of(outcome_of(results_));
  evaluation.skipped = loader_.dataset().size() - evaluation.samples;
  return evaluation;
}

Evaluation Evaluator::run() { return run(*program_); }

Evaluation Evaluator::run_with_confusion(std::size_t classes) {
  const std::size_t samples = std::size_t{last_leaf() - first_leaf()} * loader_.micro_batch();
  const Buffer predictions = session_.device().allocate(samples * sizeof(Prediction));
  Evaluation evaluation = run(*record(predictions.as<Prediction>()));
  evaluation.confusion = count_confusion(predictions, classes);
  return evaluation;
}

std::vector<std::uint64_t> Evaluator::count_confusion(const Buffer& predictions, std::size_t classes) const {
  std::vector<Prediction> own(predictions.bytes() / sizeof(Prediction));
  session_.device().copy(own.data(), predictions.data(), predictions.bytes());
  std::vector<std::uint64_t> counts(classes * classes);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::uint32_t leaf = first_leaf() + static_cast<std::uint32_t>(i / loader_.micro_batch());
    if (i % loader_.micro_batch() >= loader_.samples(leaf) || own[i].label < 0) continue;
    ++counts[static_cast<std::size_t>(own[i].label) * classes + static_cast<std::size_t>(own[i].predicted)];
  }
  const std::vector<std::byte> all = session_.world().all_gather(std::as_bytes(std::span(counts)));
  const std::size_t bytes = counts.size() * sizeof(std::uint64_t);
  std::vector<std::uint64_t> sum(counts.size());
  for (std::size_t begin = 0; begin < all.size(); begin += bytes) {
    std::memcpy(counts.data(), all.data() + begin, bytes);
    std::ranges::transform(sum, counts, sum.begin(), std::plus<>());
  }
  return sum;
}

}  // namespace lockstep
