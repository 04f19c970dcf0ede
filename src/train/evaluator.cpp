#include "train/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "comm/world/watch_of.h"
#include "graph/summary.h"
#include "lockstep/error.h"
#include "train/label_results.h"
#include "train/step/outcome.h"

namespace lockstep {
namespace {

/// Maximum number of leaves in a recording for a GPU: a graph of tens of thousands of kernels takes long to
/// instantiate and to start.
constexpr std::uint64_t max_graph_leaves = 100;

/// Results of the labels, from the outputs for all samples. `skipped`: number of samples that could not be
/// read, whose outputs are NaN. Overwrites the outputs.
std::vector<LabelResult> results_of_all(std::span<float> outputs, const Dataset& dataset,
                                        std::uint64_t skipped) {
  const auto labels = static_cast<std::size_t>(dataset.classes());
  std::vector<float> targets;
  targets.reserve(outputs.size());
  std::size_t end = 0;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    const auto row = outputs.subspan(id * labels, labels);
    const bool all_nan = std::ranges::all_of(row, [](float output) { return std::isnan(output); });
    if (all_nan && skipped > 0) {
      --skipped;
      continue;
    }
    std::ranges::copy(row, outputs.begin() + static_cast<std::ptrdiff_t>(end));
    end += labels;
    const std::span<const float> own = dataset.targets(id);
    targets.insert(targets.end(), own.begin(), own.end());
  }
  return label_results(outputs.first(end), targets, labels);
}

}  // namespace

void check_read(const World& world, const Evaluation& evaluation, const std::string& what) {
  if (evaluation.samples > 0 || evaluation.skipped == 0) return;
  world.agree([&] {  // all ranks detect this error, but one prints it
    throw Error(Category::data, fmt::format("none of the {} {} can be read", evaluation.skipped, what));
  });
}

double forward_seconds(const Session& session, const Network& network, std::uint64_t samples) {
  std::uint64_t per_sample = 0;
  for (const Network::Layer& layer : network.layers()) per_sample += multiply_adds(network, layer);
  const double in_a_second = session.placement().common_device() == DeviceKind::cuda ? 4e12 : 2e10;
  return static_cast<double>(per_sample) * static_cast<double>(samples) / in_a_second /
         session.world().size();
}

std::uint64_t evaluation_rounds(const Session& session, const Network& network, std::uint64_t samples,
                                std::uint32_t micro_batch) {
  const auto seconds = static_cast<std::uint64_t>(forward_seconds(session, network, samples));
  const std::uint64_t leaves = (samples + micro_batch - 1) / micro_batch;
  return std::clamp<std::uint64_t>(seconds, 1, std::max<std::uint64_t>(leaves, 1));
}

Evaluator::Evaluator(const Session& session, CompiledGraph& graph, const Dataset& dataset,
                     std::uint32_t micro_batch, std::span<const float> parameters, const InputOptions& input,
                     std::uint64_t rounds)
    : session_(session),
      parameters_(parameters),
      loader_(dataset, micro_batch, input),
      runners_(make_runners(session, graph, loader_, loader_.leaves(dataset.size()))),
      pass_(session, runners_, session.assign(loader_.leaves(dataset.size()), runners_.size())),
      results_(pass_.results().size()) {
  if (dataset.task() == Task::multilabel) collect_outputs();
  rounds_ = record(rounds);
}

/// Records a pass over the data set in `rounds` rounds. The pass writes predictions and outputs if they have
/// memory.
Evaluator::Rounds Evaluator::record(std::uint64_t rounds) {
  loader_.set_step(0, loader_.dataset().size());
  const LeafPass::RecordLeaf record_leaf = [this](Stream& stream, LeafRunner& runner,
                                                  std::size_t /*executor*/, std::uint32_t leaf) {
    runner.load(stream, leaf);
    runner.forward(stream, runner.nodes_and_loss(), parameters_.data(), pass_.result(leaf));
    const std::uint64_t before = position(leaf) - position(first_leaf());
    if (classes_ > 0) runner.predict(stream, predictions_.as<Prediction>() + before);
    if (outputs_ > 0) runner.write_outputs(stream, own_outputs_.floats().data() + before * outputs_);
  };
  const bool cuda = session_.placement().device == DeviceKind::cuda;
  const std::uint64_t leaves = last_leaf() - first_leaf();
  const std::uint64_t most = rounds * max_graph_leaves;
  const std::uint64_t programs = cuda ? std::max<std::uint64_t>((leaves + most - 1) / most, 1) : 1;
  Rounds recorded(rounds);
  for (std::uint64_t number = 0; number < rounds * programs; ++number) {
    const LeafPass::Part part{.number = number, .count = rounds * programs};
    recorded[number / programs].push_back(session_.device().record([this, record_leaf, part] {
      pass_.record(parameters_.data(), {&record_leaf, 1}, part);
      if (part.is_last()) pass_.gather_results(*session_.device().streams()[0]);
    }));
  }
  return recorded;
}

std::optional<Evaluation> Evaluator::run_while(const std::function<bool()>& should_continue) {
  const std::vector<std::uint32_t>& bounds = pass_.assignment().executors;
  for (std::size_t e = 0; e < runners_.size(); ++e) {
    const std::uint64_t first = position(bounds[e]);
    const SampleRange range{.first = first, .samples = position(bounds[e + 1]) - first};
    runners_[e]->expect({&range, 1});
  }
  Watch& watch = watch_of(session_.world());
  const InStage in(watch, Stage::evaluation);
  const auto copy = [&](void* to, std::size_t bytes) {  // waits for the device
    const InCollective waiting(watch, Collective::device, Group::alone);
    session_.device().copy(to, pass_.results().data(), bytes);
  };
  for (const auto& round : rounds_) {
    if (should_continue) {
      LeafResult last;  // copied so that rounds do not queue up on the device
      copy(&last, std::min(pass_.results().size(), 1UL) * sizeof last);
      if (!should_continue()) return std::nullopt;
    }
    for (const auto& program : round) session_.run(*program);
  }
  copy(results_.data(), pass_.results().size_bytes());
  Evaluation evaluation = evaluation_of(outcome_of(results_), loader_.dataset());
  evaluation.skipped = loader_.dataset().size() - evaluation.samples;
  if (classes_ > 0) evaluation.confusion = confusion();
  if (outputs_ > 0) {
    evaluation.labels = labels(evaluation.skipped);
    evaluation.mean_average_precision = mean_average_precision(evaluation.labels);
  }
  return evaluation;
}

void Evaluator::count_confusion(std::size_t classes) {
  session_.world().agree(
      [&] { predictions_ = session_.device().allocate(own_samples() * sizeof(Prediction)); });
  classes_ = classes;
  rounds_ = record(rounds_.size());
}

std::uint64_t Evaluator::position(std::uint32_t leaf) const {
  return std::min(loader_.position(leaf), loader_.dataset().size());
}

/// Makes passes that are recorded from now on write the outputs. Collective.
void Evaluator::collect_outputs() {
  outputs_ = static_cast<std::size_t>(loader_.dataset().classes());
  gather_.emplace(session_.world());
  session_.world().agree([&] {
    own_outputs_ =
        session_.device().allocate(std::max<std::size_t>(own_samples() * outputs_, 1) * sizeof(float));
    if (session_.world().rank() == 0) all_outputs_.resize(loader_.dataset().size() * outputs_);
  });
}

/// Returns, on all ranks, the results of the labels from the outputs of all ranks.
std::vector<LabelResult> Evaluator::labels(std::uint64_t skipped) {
  const World& world = session_.world();
  const std::vector<std::uint32_t>& bounds = pass_.assignment().ranks;
  std::vector<std::size_t> counts(bounds.size() - 1);
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    counts[rank] = (position(bounds[rank + 1]) - position(bounds[rank])) * outputs_;
  }
  std::vector<float> own(counts[static_cast<std::size_t>(world.rank())]);
  session_.device().copy(own.data(), own_outputs_.data(), own.size() * sizeof(float));
  gather_->gather(own, counts, all_outputs_);
  std::vector<LabelResult> results(outputs_);
  if (world.rank() == 0) results = results_of_all(all_outputs_, loader_.dataset(), skipped);
  const std::vector<std::byte> bytes = world.broadcast(std::as_bytes(std::span(results)));
  std::memcpy(results.data(), bytes.data(), bytes.size());
  return results;
}

std::vector<std::uint64_t> Evaluator::confusion() const {
  std::vector<Prediction> own(own_samples());
  session_.device().copy(own.data(), predictions_.data(), own.size() * sizeof(Prediction));
  std::vector<std::uint64_t> counts(classes_ * classes_);
  for (const auto& [label, predicted] : own) {
    if (label < 0) continue;
    ++counts[static_cast<std::size_t>(label) * classes_ + static_cast<std::size_t>(predicted)];
  }
  session_.world().sum(counts);
  return counts;
}

}  // namespace lockstep
