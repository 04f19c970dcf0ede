#pragma once

#include "data/augment/draws.h"
#include "data/image/image.h"
#include "lockstep/input.h"

namespace lockstep {

/// The random part of an image that is resized to what the network sees: area uniform in `scale` of the
/// image's, width over height log-uniform in `ratio`, whole pixels; after ten parts that do not fit, the
/// largest middle part of an allowed ratio. As torchvision's RandomResizedCrop (Szegedy et al., 2015).
Box random_resized_crop(const AugmentOptions& options, ImageSize size, const SampleVisit& visit);

}  // namespace lockstep
