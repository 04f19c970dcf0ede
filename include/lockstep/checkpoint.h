#pragma once

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
         .result_with = {{"on-nan", {"rollback"}}},
         .zero = "never"});
  field(keep, {.name = "keep",
               .help = "number of checkpoints to keep, beside that of the best epoch",
               .range = {.min = 1},
               .scope = Scope::local});
}

/// (name, text) pairs that describe a run, in order. Names are unique.
using Facts = std::vector<std::pair<std::string, std::string>>;

}  // namespace lockstep
