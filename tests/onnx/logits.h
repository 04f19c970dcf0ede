#pragma once

#include <vector>

#include "lockstep/evaluation.h"
#include "support/synthetic.h"

namespace lockstep::test {

/// Logits of a model for all samples of a data set: [sample][class].
inline std::vector<float> logits_of(const Network& network, const ModelFile& weights, const Dataset& samples,
                                    const InputOptions& input = {}) {
  std::vector<float> logits;
  predict(world(), network, weights, samples,
          {.input = input,
           .batch = {.size = static_cast<int>(samples.size()), .micro_batches = 1},
           .execution = {.threads = 1}},
          [&](const OutputBlock& block) {
            logits.insert(logits.end(), block.values.begin(), block.values.end());
          });
  return logits;
}

}  // namespace lockstep::test
