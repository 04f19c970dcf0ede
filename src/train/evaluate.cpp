#include "lockstep/evaluation.h"

#include <algorithm>
#include <vector>

#include "comm/world/check_same.h"
#include "data/feed/transform.h"
#include "lockstep/world.h"
#include "train/check_options.h"
#include "train/evaluator.h"
#include "train/same_run.h"
#include "train/session/agreed.h"
#include "train/session/parameter_set.h"
#include "train/session/session.h"

namespace lockstep {
namespace {

/// Samples of a micro-batch, at least 1.
int micro_batch_of(const EvaluationOptions& options, const Placement& placement) {
  const auto& [size, micro_batches] = options.batch;
  const int parts =
      micro_batches > 0 ? micro_batches : default_micro_batches(size, placement.common_device());
  return std::max(1, size / parts);
}

}  // namespace

Evaluation evaluate(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
                    const EvaluationOptions& options) {
  check_same(world, agreed(world, [&] { return lines_of_evaluation(options, network, file, dataset); }));
  world.agree([&] { check_fields(options); });
  const ArenaLayout layout = layout_arena(network.parameters());
  const Session session(world, find_placement(world, options.execution), options.execution);
  const int micro_batch = micro_batch_of(options, session.placement());
  Buffer parameters;
  world.agree([&] {
    check_fit(network, dataset);
    const Transform checked(options.input, dataset, {});
    parameters = session.device().allocate(layout.elements * sizeof(float));
    const HostView view(session.device(), parameters);
    ParameterSet(network, layout, view.floats()).load(file);
    view.store();
  });
  const std::unique_ptr<CompiledGraph> graph = session.planned([&] {
    return session.backend().compile(build_graph(network), layout,
                                     {.samples = micro_batch, .training = false});
  });
  Evaluator evaluator(session, *graph, dataset, static_cast<std::uint32_t>(micro_batch), parameters.floats(),
                      options.input);
  if (options.confusion) evaluator.count_confusion(static_cast<std::size_t>(network.classes()));
  Evaluation evaluation = evaluator.run();
  check_read(world, evaluation, "samples");
  return evaluation;
}

std::string digest(const Network& network, const ModelFile& file) {
  const ArenaLayout layout = layout_arena(network.parameters());
  std::vector<float> arena(layout.elements);
  const ParameterSet parameters(network, layout, arena);
  parameters.load(file);
  return parameters.digest();
}

}  // namespace lockstep
