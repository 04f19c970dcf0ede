#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/background_gather.h"
#include "lockstep/evaluation.h"
#include "train/session/session.h"
#include "train/step/leaf_pass.h"

namespace lockstep {

/// Computes the outputs of a network for all samples of a data set, in blocks of leaves that are spread over
/// ranks and executors and gathered on rank 0.
class Predictor {
 public:
  /// `graph` must be compiled for evaluation of `network` with micro-batches of this size. `parameters`: an
  /// arena of the device. All arguments must outlive the predictor. Collective. Throws the errors of Loader
  /// and Error(resource) on all ranks.
  Predictor(const Session& session, CompiledGraph& graph, const Network& network, const Dataset& dataset,
            std::uint32_t micro_batch, std::span<const float> parameters, const InputOptions& input);

  /// Calls `take` on rank 0 with each block, in the order of the data set. Call once. Collective. Throws the
  /// errors of `take` on all ranks.
  void run(const std::function<void(const OutputBlock&)>& take);

 private:
  /// Leaves of a block: the first one, and the assignment, whose boundaries count from `first`.
  struct Leaves {
    std::uint32_t first = 0;
    Assignment assignment;
  };
  Leaves leaves_of(std::uint64_t block) const;
  std::uint64_t position(std::uint64_t leaf) const;
  std::size_t values_of(const Leaves& leaves, std::size_t rank) const;
  std::vector<UnreadableSample> take_unreadable(std::uint64_t end);
  void expect();
  void compute(const Leaves& leaves);
  void gather(const Leaves& leaves);

  const Session& session_;
  std::span<const float> parameters_;
  std::size_t outputs_;  ///< number of outputs per sample
  Loader loader_;
  std::uint32_t leaves_;           ///< number of leaves of the data set
  std::uint32_t leaves_in_block_;  ///< number of leaves in all but the last block
  LeafRunners runners_;
  std::uint64_t blocks_;
  bool prepared_ = false;  ///< whether the runners have prepared the parameters
  Buffer own_;             ///< outputs of this rank's part of a block, in memory of the device
  std::optional<HostView> on_host_;
  std::vector<float> all_;  ///< outputs of a block, on rank 0
  BackgroundGather gather_;
  std::vector<UnreadableSample> unreadable_;  ///< of this rank, including samples of later blocks
};

}  // namespace lockstep
