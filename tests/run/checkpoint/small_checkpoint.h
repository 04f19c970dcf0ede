#pragma once

#include <cstdint>
#include <vector>

#include "run/checkpoint/checkpoint.h"

namespace lockstep {

/// Contents of a checkpoint of a few hundred bytes that depend on the step. Owns the tensors' values.
class SmallCheckpoint {
 public:
  /// Three tensors have `rows` x 3 elements.
  explicit SmallCheckpoint(std::uint64_t step, std::int64_t rows = 2)
      : weight_(static_cast<std::size_t>(3 * rows)), momentum_(weight_), average_(weight_), batches_{3} {
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      weight_[i] = static_cast<float>(step) + 0.25F * static_cast<float>(i);
      momentum_[i] = -weight_[i];
      average_[i] = 0.5F * weight_[i];
    }
    contents_.state = {.step = step,
                       .epoch = 2,
                       .progress = {{"loss", "0.1"}, {"correct", "17"}},
                       .options = {{"lr", "0.2"}, {"model", "lenet"}},
                       .identity = {{"network", "xxh3:00"}},
                       .fingerprint = {{"simd", "avx512"}},
                       .engines = R"({"conv1":3})"};
    contents_.model = {{"conv1.weight", {rows, 3}, weight_}, {"bn1.num_batches_tracked", {1}, batches_}};
    contents_.optimizer = {{"momentum.conv1.weight", {rows, 3}, momentum_},
                           {"average.conv1.weight", {rows, 3}, average_}};
    contents_.metadata = {{"model", "lenet"}};
  }
  SmallCheckpoint(const SmallCheckpoint&) = delete;
  SmallCheckpoint& operator=(const SmallCheckpoint&) = delete;

  CheckpointContents& contents() { return contents_; }
  const CheckpointContents& contents() const { return contents_; }

 private:
  std::vector<float> weight_, momentum_, average_;
  std::vector<std::int64_t> batches_;
  CheckpointContents contents_;
};

}  // namespace lockstep
