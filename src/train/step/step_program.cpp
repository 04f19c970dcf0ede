#include "train/step/step_program.h"

#include <array>
#include <utility>

namespace lockstep {

StepProgram::StepProgram(const Session& session, LeafPass pass, StepGradients gradients, Updater& updater,
                         const StepTable& table, std::uint64_t rounds)
    : session_(session), pass_(std::move(pass)), gradients_(std::move(gradients)) {
  const float* const parameters = updater.parameters();
  const std::array<LeafPass::RecordLeaf, 2> stages = {
      [this, parameters](Stream& stream, LeafRunner& runner, std::size_t /*executor*/, std::uint32_t leaf) {
        runner.load(stream, leaf);
        runner.forward(stream, runner.nodes_and_loss(), parameters, pass_.result(leaf));
      },
      [this, parameters](Stream& stream, LeafRunner& runner, std::size_t executor, std::uint32_t leaf) {
        gradients_.record_leaf(stream, runner, executor, leaf, parameters);
      }};
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const LeafPass::Part part{.number = round, .count = rounds};
    programs_.push_back(session.device().record([this, parameters, stages, part, &session, &updater, &table] {
      pass_.record(parameters, stages, part);
      if (!part.is_last()) return;
      Stream& stream = *session.device().streams()[0];
      gradients_.sums().ready(stream, 0);  // before other exchanges, on all ranks, even without leaves
      pass_.gather_results(stream);        // the gradient is divided by the number of computed samples
      session.backend().conclude(stream, pass_.results(), table);
      updater.record(stream, gradients_.sums());
    }));
  }
}

bool StepProgram::run(const std::function<bool()>& should_continue) {
  for (std::size_t round = 0; round < programs_.size(); ++round) {
    if (round > 0 && should_continue && !should_continue()) return false;
    session_.run(*programs_[round]);
  }
  return true;
}

std::optional<PhaseSeconds> StepProgram::phases(std::size_t stream) const {
  PhaseSeconds sum;
  for (const auto& program : programs_) {
    const auto seconds = program->phases(stream);
    if (!seconds) return std::nullopt;
    sum += *seconds;
  }
  return sum;
}

}  // namespace lockstep
