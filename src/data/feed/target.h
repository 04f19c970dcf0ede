#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/feed/micro_batch.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Number of targets of a sample; 0 in classification, where the label is the target.
inline std::size_t target_count(const Dataset& dataset) {
  return dataset.task() == Task::classification ? 0 : static_cast<std::size_t>(dataset.classes());
}

/// Target of sample `id`, in the data set's memory.
inline Target target_of(const Dataset& dataset, std::uint64_t id) {
  if (dataset.task() == Task::classification) return {.label = dataset.label(id)};
  return {.values = dataset.targets(id).data()};
}

/// Labels of all samples; zeros unless the task is classification.
inline std::vector<std::int32_t> labels_of(const Dataset& dataset) {
  std::vector<std::int32_t> labels(dataset.size());
  for (std::uint64_t id = 0; id < labels.size(); ++id) labels[id] = target_of(dataset, id).label;
  return labels;
}

/// Targets of all samples, [sample][target]; empty in classification.
inline std::vector<float> targets_of(const Dataset& dataset) {
  std::vector<float> targets;
  if (target_count(dataset) == 0) return targets;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    const std::span<const float> values = dataset.targets(id);
    targets.insert(targets.end(), values.begin(), values.end());
  }
  return targets;
}

}  // namespace lockstep
