#pragma once

#include <cstddef>
#include <cstdint>

#include "data/feed/micro_batch.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Number of targets of a sample; 0 in classification, where its label is the target.
inline std::size_t target_count(const Dataset& dataset) {
  return dataset.task() == Task::classification ? 0 : static_cast<std::size_t>(dataset.classes());
}

/// Target of sample `id`, in the data set's memory.
inline Target target_of(const Dataset& dataset, std::uint64_t id) {
  if (dataset.task() == Task::classification) return {.label = dataset.label(id)};
  return {.values = dataset.targets(id).data()};
}

}  // namespace lockstep
