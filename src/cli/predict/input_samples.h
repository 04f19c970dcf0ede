#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// A table or an archive that could not be read, or a folder without inputs. `error` names it.
struct UnreadInput {
  std::string input;
  std::string error;
};
LOCKSTEP_MEMBERS(UnreadInput, input, error)

/// Samples without classes, to be predicted: all labels are 0.
struct InputSamples {
  std::unique_ptr<Dataset> samples;
  std::vector<UnreadInput> unreadable = {};
};

}  // namespace lockstep
