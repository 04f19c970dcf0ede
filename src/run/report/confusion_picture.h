#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

struct ConfusionPicture {
  int size = 0;     ///< width and height in pixels
  std::string png;  ///< bytes of the PNG file
};

/// Picture of a confusion matrix (numbers of samples by [class][predicted class]) with a row per class and a
/// column per predicted class. The larger the share of a square in the samples of its row, the darker the
/// square. Throws Error(resource) if memory is short.
ConfusionPicture confusion_picture(std::span<const std::uint64_t> confusion);

}  // namespace lockstep
