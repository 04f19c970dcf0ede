#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/image/image.h"

namespace lockstep {

/// PNG files through libpng. One per executor. All errors are Error(data) with the reason alone.
class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();

  /// Reads the header of `file`, which must live until the next decode has returned.
  ImageSize open(std::span<const std::uint8_t> file);
  /// Decodes all of the opened file as `channels` (1 or 3) channels of 8 bits. Transparency is ignored.
  void decode(int channels, Image& image);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Name and version of the library that is in use.
std::string png_library();

}  // namespace lockstep
