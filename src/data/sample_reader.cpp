#include "data/sample_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {

SampleReader::SampleReader(const Dataset& dataset, const Transform& transform)
    : dataset_(dataset),
      transform_(transform),
      sample_bytes_(dataset.shape().size() * (dataset.encoding() == Encoding::floats ? sizeof(float) : 1)) {}

const std::uint8_t* SampleReader::read(std::uint64_t id, std::uint32_t /*epoch*/, std::uint8_t* place) {
  const std::span<const std::uint8_t> bytes = dataset_.sample(id, file_);
  if (bytes.size() != sample_bytes_) {
    throw Error(Category::data, fmt::format("{}: {} bytes, {} were expected", dataset_.sample_name(id),
                                            bytes.size(), sample_bytes_));
  }
  if (bytes.data() != file_.data()) {
    return bytes.data();
  }
  std::ranges::copy(bytes, place);
  return place;
}

}  // namespace lockstep
