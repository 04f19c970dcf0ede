#include "data/image/decoder.h"
#include "data/image/resample.h"
#include "fuzz.h"

namespace {

/// A part of an accepted image must be decodable and resizable, unless the image is rejected as damaged.
void read_input(std::span<const std::byte> file) {
  lockstep::ImageDecoder decoder;
  const lockstep::ImageSize found =
      decoder.open({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  if (std::int64_t{found.width} * found.height > 1 << 20) return;  // valid, but slow
  const lockstep::Box box{found.width / 4.0, found.height / 3.0, found.width / 2.0, found.height / 2.0};
  lockstep::ImagePart part;
  decoder.decode(box, {8, 8}, 3, part);
  lockstep::Resampler resampler;
  std::uint8_t out[3 * 8 * 8];
  resampler.resize(part.image, part.box, 8, 8, out);
}

const Parser image("image", read_input);

}  // namespace
