#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/field.h"
#include "lockstep/period.h"

namespace lockstep {

/// When a run writes checkpoints, and how many it keeps; `visit` describes the options.
struct CheckpointOptions {
  Period every = {.time = {60.0}};
  int keep = 3;

  bool operator==(const CheckpointOptions&) const = default;
};

template <OptionsOf<CheckpointOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [every, keep] = options;
  field(every,
        {.name = "checkpoint-every",
         .help = "time (30s, 10m, 2h) or number of steps between checkpoints; one is also written at the "
                 "end of each epoch, and when the run is stopped",
         .group = "Checkpoints",
         .scope = Scope::protocol,
         .zero = "never"});
  field(keep, {.name = "keep",
               .help = "number of checkpoints to keep, beside that of the best epoch",
               .range = {.min = 1},
               .scope = Scope::local});
}

/// Names and texts that describe a run, in order. Names are unique.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// A checkpoint that was written, or failed to be; reported on rank 0.
struct CheckpointReport {
  std::uint64_t step = 0;
  std::filesystem::path folder{};  ///< empty: failed
  std::string failure{};           ///< reason; empty: written
  std::string remark{};            ///< why older checkpoints could not be removed; empty: they were
  double stall_seconds = 0.0;      ///< time for which the training waited
  double write_seconds = 0.0;      ///< time of the writing, beside the training
};

}  // namespace lockstep
