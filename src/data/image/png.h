#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/image/image.h"

namespace lockstep {

/// Decoder of PNG files (libpng). Not thread-safe: each executor needs one. Error messages contain only the
/// reason, no file name: Error(data), or Error(resource) when memory is short.
class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();

  /// Reads the header of `file`, which must outlive the next decode.
  ImageSize open(std::span<const std::uint8_t> file);
  /// Decodes the whole opened file as `channels` (1 or 3) channels of 8 bits, ignoring transparency.
  void decode(int channels, Image& image);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Name and version of the loaded library.
std::string png_library();

}  // namespace lockstep
