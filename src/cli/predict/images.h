#pragma once

#include <string>
#include <vector>

#include "cli/predict/input_samples.h"
#include "lockstep/shape.h"

namespace lockstep {

/// Images to be predicted, in the order of `files`: an image is itself and need not exist; a tar archive
/// stands for its images, by name (data/sets/images/tar_images.h), which are called ARCHIVE/NAME. Images are
/// read when samples are requested. `shape`: of the network's input. `strict`: throws Error(data) for an
/// archive that cannot be read.
InputSamples find_images(const std::vector<std::string>& files, Shape shape, bool strict = false);

}  // namespace lockstep
