#pragma once

#include "data/augment/draws.h"
#include "data/image/image.h"
#include "lockstep/input.h"

namespace lockstep {

/// Random part of an image, in whole pixels, that is resized to the network's input: its share of the area is
/// uniform in `scale`, its ratio of width to height log-uniform in `ratio`. If none of ten attempts fits the
/// image, returns the largest centred part with an allowed ratio. Same as torchvision's RandomResizedCrop
/// (Szegedy et al., 2015).
Box random_resized_crop(const AugmentOptions& options, ImageSize size, const SampleVisit& visit);

}  // namespace lockstep
