#include "data/feed/micro_batch_reader.h"

#include <algorithm>

#include "data/feed/target.h"
#include "lockstep/error.h"

namespace lockstep {

MicroBatchReader::MicroBatchReader(const Dataset& dataset, const Transform& transform, BadSamples& bad,
                                   std::size_t capacity)
    : dataset_(dataset),
      bad_(bad),
      reader_(dataset, transform),
      layout_(capacity, reader_.sample_bytes(), transform.mixes(), target_count(dataset)),
      block_((layout_.bytes(capacity) + sizeof(CacheLine) - 1) / sizeof(CacheLine)),
      samples_(capacity),
      batch_(layout_.arrays(block_.data()->bytes, 0)) {
  batch_.samples = samples_.data();
}

const MicroBatch& MicroBatchReader::read(const MicroBatchRule& rule, std::uint32_t number,
                                         std::span<const std::uint64_t> ids) {
  batch_.size = 0;
  for (const std::uint64_t id : ids) {
    try {
      append(id, reader_.read(rule, id, place()));
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      bad_.add(id, error.what());
      if (!bad_.keeps_places()) continue;
      std::fill_n(place(), layout_.sample_bytes(), std::byte{0});
      append(id, place());
    }
  }
  const float share = rule.share(number);
  for (std::uint32_t i = 0; i < batch_.size; ++i) {
    rule.write(batch_, i, batch_.ids[i], target_of(dataset_, batch_.ids[i]), share);
  }
  return batch_;
}

void MicroBatchReader::append(std::uint64_t id, const std::byte* sample) {
  const std::uint32_t i = batch_.size;
  batch_.samples[i] = sample;
  batch_.ids[i] = id;
  ++batch_.size;
}

}  // namespace lockstep
