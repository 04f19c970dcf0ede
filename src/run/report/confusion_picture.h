#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

struct ConfusionPicture {
  int size = 0;     ///< width and height in pixels
  std::string png;  ///< the file's bytes
};

/// Picture of numbers of samples by [class][predicted class]: a row per class, a column per predicted class;
/// a square is the darker, the larger its share of the samples of its row. Throws Error(resource) if memory
/// is short.
ConfusionPicture confusion_picture(std::span<const std::uint64_t> confusion);

}  // namespace lockstep
