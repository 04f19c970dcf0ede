#include "train/step/step_program.h"

#include <utility>

namespace lockstep {

StepProgram::StepProgram(const Session& session, LeafPass pass, StepGradients gradients, Updater& updater,
                         const StepTable& table)
    : pass_(std::move(pass)), gradients_(std::move(gradients)) {
  const float* const parameters = updater.parameters();
  program_ = session.device().record([this, parameters, &session, &updater, &table] {
    pass_.record(parameters, [this, parameters](Stream& stream, LeafRunner& runner, std::size_t executor,
                                                std::uint32_t leaf) {
      runner.load(stream, leaf);
      runner.forward(stream, runner.nodes_and_loss(), parameters, pass_.result(leaf));
      gradients_.record_leaf(stream, runner, executor, leaf, parameters);
    });
    Stream& stream = *session.device().streams()[0];
    gradients_.sums().ready(stream, 0);  // before other exchanges; on all ranks, also without leaves
    pass_.gather_results(stream);  // the gradient is divided by the number of samples that were computed
    session.backend().conclude(stream, pass_.results(), table);
    updater.record(stream, gradients_.sums());
  });
}

}  // namespace lockstep
