#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

/// JPEG and PNG files without classes, in the order of `paths`, to be predicted: all labels are 0. The files
/// need not exist; samples throw Error(data) if they cannot be read. `shape`: of the network's input.
std::unique_ptr<Dataset> make_image_files(std::vector<std::string> paths, Shape shape);

}  // namespace lockstep
