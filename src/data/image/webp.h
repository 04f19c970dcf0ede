#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/image/image.h"

namespace lockstep {

/// Decoder of WebP files that are not animated, lossy or lossless (libwebp). Not thread-safe: each executor
/// needs one. Error messages contain only the reason, no file name: Error(data), also for an animation, or
/// Error(resource) when memory is short.
class WebpDecoder {
 public:
  /// Reads the header of `file`, which must outlive the next decode.
  ImageSize open(std::span<const std::uint8_t> file);
  /// Decodes the whole opened file as `channels` (1 or 3) channels of 8 bits, ignoring transparency.
  void decode(int channels, Image& image);

 private:
  std::span<const std::uint8_t> file_;
  ImageSize size_;
  std::vector<std::uint8_t> rgb_;  ///< colours of an image that is converted to grey
};

/// Name and version of the loaded library.
std::string webp_library();

}  // namespace lockstep
