#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

/// Samples without classes, to be predicted: all labels are 0.
struct InputSamples {
  std::unique_ptr<Dataset> samples;
  std::vector<std::string> unreadable;  ///< reasons why tables or archives could not be read, which name them
};

}  // namespace lockstep
