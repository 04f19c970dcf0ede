#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "lockstep/evaluation.h"
#include "train/backend.h"

namespace lockstep {

/// Throws Error(data) on all ranks when none of the samples that `evaluation` is about could be read; `what`
/// they are: "test samples". Collective.
void check_read(const World& world, const Evaluation& evaluation, const std::string& what);

/// Measures a network on a data set: each sample once, leaves spread over ranks and executors, one sum of
/// loss per leaf, added in the order of leaves, so the same bits on any number of ranks.
class Evaluator {
 public:
  /// `communicator`: of the host's memory.
  Evaluator(Backend& backend, Communicator& communicator, CompiledGraph& graph, const Dataset& dataset,
            std::uint32_t micro_batch, std::span<const float> parameters, const InputOptions& input = {});

  /// Collective. The caller looks at whether anything could be read (check_read).
  Evaluation run();
  /// As run, with Evaluation::confusion for `classes` classes.
  Evaluation run_with_confusion(std::size_t classes);

 private:
  std::unique_ptr<Program> record(Prediction* predictions);
  void run(Program& program);
  void record_leaves(std::size_t executor, Prediction* predictions);
  Evaluation gather_results();
  std::vector<std::uint64_t> count_confusion(const Buffer& predictions, std::size_t classes) const;

  Backend& backend_;
  Communicator& communicator_;
  std::span<const float> parameters_;
  Loader loader_;
  std::vector<std::unique_ptr<LeafRunner>> runners_;
  std::vector<std::uint32_t> executor_bounds_;
  std::vector<std::size_t> result_bytes_;
  Buffer device_results_;  ///< LeafResults of this rank's leaves
  std::vector<LeafResult> own_results_;
  std::vector<LeafResult> all_results_;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
