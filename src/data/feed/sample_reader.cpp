#include "data/feed/sample_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {

SampleReader::SampleReader(const Dataset& dataset, const Transform& transform)
    : dataset_(dataset), transform_(transform), sample_bytes_(transform.format().sample_bytes()) {}

void SampleReader::read_image_file(std::span<const std::uint8_t> file, const SampleVisit& visit,
                                   std::uint8_t* place) {
  const Shape shape = dataset_.shape();
  const Box box = transform_.frame(decoder_.open(file), visit);
  decoder_.decode(box, {shape.width, shape.height}, shape.channels, part_);
  resampler_.resize(part_.image, part_.box, shape.width, shape.height, place);
}

/// Crops and resizes each plane as an image of one channel, because the resampler reads interleaved channels.
void SampleReader::reframe_pixels(std::span<const std::uint8_t> pixels, const SampleVisit& visit,
                                  std::uint8_t* place) {
  const Shape shape = dataset_.shape();
  const auto plane = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  const Box box = transform_.frame({shape.width, shape.height}, visit);
  part_.image.set_size(shape.width, shape.height, 1);
  for (std::size_t first = 0; first < pixels.size(); first += plane) {
    std::ranges::copy(pixels.subspan(first, plane), part_.image.pixels.begin());
    resampler_.resize(part_.image, box, shape.width, shape.height, place + first);
  }
}

const std::byte* SampleReader::read(const MicroBatchRule& rule, std::uint64_t id, std::byte* place) {
  const SampleVisit visit = rule.visit(id);
  auto* const pixels = reinterpret_cast<std::uint8_t*>(place);
  const std::span<const std::uint8_t> bytes = dataset_.sample(id, file_);
  const bool is_file = dataset_.encoding() == Encoding::image_file;
  if (!is_file && bytes.size() != sample_bytes_) {
    throw Error(Category::data, fmt::format("{}: {} bytes, {} were expected", dataset_.sample_name(id),
                                            bytes.size(), sample_bytes_));
  }
  if (is_file) {
    contents_.add(id, bytes);
    try {
      read_image_file(bytes, visit, pixels);
    } catch (const Error& error) {
      throw Error(error.category(), fmt::format("{}: {}", dataset_.sample_name(id), error.what()));
    }
  } else if (transform_.augment().random_resized_crop) {
    reframe_pixels(bytes, visit, pixels);
  } else if (!transform_.changes_pixels() && bytes.data() != file_.data()) {
    return reinterpret_cast<const std::byte*>(bytes.data());
  } else {
    std::ranges::copy(bytes, pixels);
  }
  if (transform_.changes_pixels()) {
    transform_.augment_pixels({pixels, dataset_.shape()}, visit, rule.placement(id), scratch_);
  }
  return place;
}

}  // namespace lockstep
