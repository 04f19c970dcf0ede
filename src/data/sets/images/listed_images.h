#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/files/file.h"
#include "data/sets/images/image_list.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Data set of the images of a folder or of archives, with Task::multilabel if the list has targets. Images
/// are read when samples are requested. Throws Error(data) for an archive that is shorter than when it was
/// listed.
std::unique_ptr<Dataset> make_images(ImageList list, Shape shape);

/// Position of an image's bytes in an open file.
struct ImageBytes {
  const InputFile& file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};
/// Reads sample `id` of `dataset` into `buffer`, which only grows. Throws Error(data) naming the sample if it
/// has too many bytes.
std::span<const std::uint8_t> read_image(const Dataset& dataset, std::uint64_t id, const ImageBytes& place,
                                         std::vector<std::uint8_t>& buffer);

}  // namespace lockstep
