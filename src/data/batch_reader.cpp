#include "data/batch_reader.h"

#include "lockstep/error.h"

namespace lockstep {

BatchReader::BatchReader(const Dataset& dataset, const Transform& transform, BadSamples& bad,
                         std::size_t micro_batch)
    : dataset_(dataset),
      transform_(transform),
      bad_(bad),
      reader_(dataset, transform),
      place_floats_((reader_.sample_bytes() + sizeof(float) - 1) / sizeof(float)) {
  places_.resize(place_floats_ * micro_batch);
  images_.reserve(micro_batch);
  floats_.reserve(micro_batch);
  labels_.reserve(micro_batch);
  ids_.reserve(micro_batch);
  other_images_.reserve(micro_batch);
  other_floats_.reserve(micro_batch);
  other_labels_.reserve(micro_batch);
  shares_.reserve(micro_batch);
}

Batch BatchReader::read(std::span<const std::uint64_t> ids, Position position) {
  images_.clear();
  floats_.clear();
  labels_.clear();
  ids_.clear();
  const bool floats = dataset_.encoding() == Encoding::floats;
  for (const std::uint64_t id : ids) {
    float* place = places_.data() + labels_.size() * place_floats_;
    try {
      const std::uint8_t* bytes = reader_.read(id, position.epoch, reinterpret_cast<std::uint8_t*>(place));
      if (floats) {
        floats_.push_back(reinterpret_cast<const float*>(bytes));
      } else {
        images_.push_back(bytes);
      }
      labels_.push_back(dataset_.label(id));
      ids_.push_back(id);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      bad_.add(id, error.what());
    }
  }
  if (transform_.mixes()) {
    mix(position);
  }
  return batch(position);
}

/// Partners are the micro-batch reversed, as timm's.
void BatchReader::mix(Position position) {
  other_images_.assign(images_.rbegin(), images_.rend());
  other_floats_.assign(floats_.rbegin(), floats_.rend());
  other_labels_.assign(labels_.rbegin(), labels_.rend());
  shares_.assign(labels_.size(), transform_.share(position.epoch, position.number));
}

Batch BatchReader::batch(Position position) const {
  Batch batch;
  batch.images = images_;
  batch.floats = floats_;
  batch.labels = labels_;
  batch.ids = ids_;
  batch.random = {.seed = transform_.seed(), .epoch = position.epoch};
  batch.mean = transform_.mean();
  batch.deviation = transform_.deviation();
  batch.other_images = other_images_;
  batch.other_floats = other_floats_;
  batch.other_labels = other_labels_;
  batch.share = shares_;
  return batch;
}

}  // namespace lockstep
