#include "lockstep/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "comm/world/agreed.h"
#include "comm/world/check_same.h"
#include "core/elementary.h"
#include "core/finite.h"
#include "data/feed/transform.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/check_options.h"
#include "train/evaluator.h"
#include "train/predictor.h"
#include "train/same_run.h"
#include "train/session/parameter_set.h"
#include "train/session/session.h"

namespace lockstep {
namespace {

/// Number of samples of a micro-batch, at least 1.
int micro_batch_of(const EvaluationOptions& options, const Placement& placement) {
  const auto& [size, micro_batches] = options.batch;
  const int parts =
      micro_batches > 0 ? micro_batches : default_micro_batches(size, placement.common_device());
  return std::max(1, size / parts);
}

/// A saved model on the devices of all ranks, compiled for evaluation.
class LoadedModel {
 public:
  /// Compares the arguments between the ranks before anything else. Collective. Throws on all ranks.
  LoadedModel(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
              const EvaluationOptions& options)
      : layout_(checked_layout(world, network, file, dataset, options)),
        session_(world, find_placement(world, options.execution), options.execution),
        micro_batch_(micro_batch_of(options, session_.placement())) {
    world.agree([&] {
      check_fit(network, dataset);
      if (options.confusion && dataset.task() != Task::classification) {
        throw Error(Category::usage, fmt::format("{} has no classes to count", name_of(dataset.task())),
                    "confusion");
      }
      const Transform checked(options.input, dataset, {});
      parameters_ = session_.device().allocate(layout_.elements * sizeof(float));
      const HostView view(session_.device(), parameters_);
      ParameterSet(network, layout_, view.floats()).load(file);
      view.store();
    });
    graph_ = session_.planned([&] {
      return session_.backend().compile(build_graph(network), layout_,
                                        {.samples = micro_batch_, .training = false, .task = dataset.task()});
    });
  }

  const Session& session() const { return session_; }
  CompiledGraph& graph() const { return *graph_; }
  std::uint32_t micro_batch() const { return static_cast<std::uint32_t>(micro_batch_); }
  std::span<const float> parameters() const { return parameters_.floats(); }

 private:
  static ArenaLayout checked_layout(const World& world, const Network& network, const ModelFile& file,
                                    const Dataset& dataset, const EvaluationOptions& options) {
    check_same(world, agreed(world, [&] { return lines_of_evaluation(options, network, file, dataset); }));
    world.agree([&] {
      check_fields(options);
      check_size(options.batch);
      check_rank_weights(options.execution.rank_weights, world.size());
    });
    return layout_arena(network.parameters());
  }

  ArenaLayout layout_;
  Session session_;
  int micro_batch_;
  Buffer parameters_;
  std::unique_ptr<CompiledGraph> graph_;
};

}  // namespace

Evaluation evaluate(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
                    const EvaluationOptions& options) {
  const LoadedModel model(world, network, file, dataset, options);
  world.agree([&] { check_targets(dataset); });
  Evaluator evaluator(model.session(), model.graph(), dataset, model.micro_batch(), model.parameters(),
                      options.input);
  if (options.confusion) evaluator.count_confusion(static_cast<std::size_t>(network.classes()));
  Evaluation evaluation = evaluator.run();
  check_read(world, evaluation, "samples");
  return evaluation;
}

void predict(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
             const EvaluationOptions& options, const std::function<void(const OutputBlock&)>& take) {
  world.agree([&] {
    if (world.rank() > 0 || take) return;
    throw Error(Category::usage, "predict() needs a function that takes the outputs");
  });
  const LoadedModel model(world, network, file, dataset, options);
  world.agree([&] {  // class labels are not used and may be unknown; other targets are copied with samples
    if (dataset.task() != Task::classification) check_targets(dataset);
  });
  Predictor predictor(model.session(), model.graph(), network, dataset, model.micro_batch(),
                      model.parameters(), options.input);
  predictor.run(take);
}

void softmax(std::span<const float> logits, std::span<double> probabilities) {
  const double largest = logits.empty() ? 0.0 : std::ranges::max(logits);
  const bool finite = all_finite(logits);
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    probabilities[i] = finite ? exponential(static_cast<double>(logits[i]) - largest)
                              : std::numeric_limits<double>::quiet_NaN();
    sum += probabilities[i];
  }
  for (double& probability : probabilities) probability /= sum;
}

double label_probability(float logit) {
  const auto z = static_cast<double>(logit);
  if (std::isnan(z)) return z;
  const double decay = exponential(-std::fabs(z));
  return (z > 0.0 ? 1.0 : decay) / (1.0 + decay);
}

std::string digest(const Network& network, const ModelFile& file) {
  const ArenaLayout layout = layout_arena(network.parameters());
  std::vector<float> arena(layout.elements);
  const ParameterSet parameters(network, layout, arena);
  parameters.load(file);
  return parameters.digest();
}

}  // namespace lockstep
