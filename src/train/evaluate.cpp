#include <vector>

#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/agreed.h"
#include "train/backend.h"
#include "train/evaluator.h"
#include "train/fit.h"
#include "train/parameter_set.h"

namespace lockstep {

Evaluation evaluate(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
                    const EvaluationOptions& options) {
  const ArenaLayout layout = layout_arena(network.parameters());
  const std::unique_ptr<Communicator> communicator = make_communicator(world, options.execution.transport);
  ExecutionOptions execution = options.execution;
  execution.device = resolve_device(world, execution);
  std::unique_ptr<Backend> backend;
  Buffer parameters;
  world.agree([&] {
    if (options.micro_batch < 1) {
      throw Error(Category::usage, "a micro-batch must have at least 1 sample");
    }
    check_fit(network, dataset);
    backend = make_backend({.execution = execution, .world = &world});
    parameters = backend->device().allocate(layout.elements * sizeof(float));
    const HostView view(backend->device(), parameters);
    ParameterSet(network, layout, view.floats()).load(file);
    view.store();
  });
  // Engines are chosen in both, the same ones on all ranks.
  const auto planned = [&](const auto& make) {
    return rank_0_first(world, !options.execution.plan_cache.empty(), make);
  };
  const std::unique_ptr<CompiledGraph> graph = planned([&] {
    return backend->compile(build_graph(network), layout,
                            {.samples = options.micro_batch, .training = false, .images = dataset.shape()});
  });
  const std::unique_ptr<Evaluator> evaluator = planned([&] {
    return std::make_unique<Evaluator>(*backend, *communicator, *graph, dataset,
                                       static_cast<std::uint32_t>(options.micro_batch), parameters.floats(),
                                       options.input);
  });
  Evaluation evaluation = options.confusion
                              ? evaluator->run_with_confusion(static_cast<std::size_t>(network.classes()))
                              : evaluator->run();
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
