#pragma once

#include <memory>

#include "train/run.h"
#include "train/session/session.h"
#include "train/small_run.h"
#include "train/step/training_steps.h"
#include "train/training_state.h"

namespace lockstep::test {

/// Components of a run of the small network, up to and including its steps.
struct Phases {
  Placement placement;
  Run run;
  Session session;
  std::unique_ptr<CompiledGraph> graph;
  TrainingState state;
  TrainingSteps steps;

  Phases(const World& world, const TrainerOptions& chosen)
      : placement(find_placement(world, chosen.execution, chosen.reduce)),
        run(check_run(world, placement, small_network(), train_set(), test_set(), chosen)),
        session(world, placement, run.options.execution),
        graph(session.backend().compile(build_graph(small_network()), run.layout,
                                        {.samples = static_cast<int>(run.micro_batch())})),
        state(session, run),
        steps(session, run, *graph, state) {}
};

/// A network with its initial values, compiled for evaluation in micro-batches of `samples`.
struct NetworkToEvaluate {
  Session session;
  ArenaLayout layout;
  std::unique_ptr<CompiledGraph> graph;
  Buffer parameters;

  NetworkToEvaluate(const Network& network, const ExecutionOptions& execution, int samples)
      : session(world(), find_placement(world(), execution), execution),
        layout(layout_arena(network.parameters())),
        graph(
            session.backend().compile(build_graph(network), layout, {.samples = samples, .training = false})),
        parameters(session.device().allocate(layout.elements * sizeof(float))) {
    const HostView view(session.device(), parameters);
    initialize_parameters(network.parameters(), layout, 0, view.floats().data());
    view.store();
  }
};

}  // namespace lockstep::test
