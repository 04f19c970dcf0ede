#include "data/cuda/gather.h"

#include "device/cuda/native/launch.h"

namespace lockstep::cuda {
namespace {

/// Functor of for_each_row with a single row: each sample is a term, and the row sum adds up sample hashes.
struct ChooseSamples {
  using Sum = Wide;
  MicroBatchDraw draw;

  /// The micro-batch's place in the run.
  struct Place {
    MicroBatchRule rule;  ///< rule of the epoch
    std::uint64_t first;  ///< position of the first sample
    float share;
  };
  LOCKSTEP_HD Place place(std::size_t /*row*/) const {
    Place place{draw.rule, std::uint64_t{draw.leaf} * draw.full_size, 1.0F};
    if (draw.log.inputs != nullptr) {
      place.rule.start_epoch(draw.log.input().epoch);
      place.first += draw.log.input().first;
    }
    place.share = place.rule.share(static_cast<std::uint32_t>(place.first / draw.full_size));
    return place;
  }

  LOCKSTEP_HD std::size_t terms(const Place& /*place*/) const { return draw.batch.size; }

  LOCKSTEP_HD Wide term(const Place& place, std::size_t i) const {
    const std::uint64_t id = place.rule.id(place.first + i);
    const Target target{draw.array.labels[id], draw.array.targets + id * draw.batch.target_count};
    place.rule.write(draw.batch, static_cast<std::uint32_t>(i), id, target, place.share);
    draw.batch.samples[i] = draw.array.samples + id * draw.array.sample_bytes;
    draw.placements[i] = place.rule.placement(id);
    return hash_integer(id);
  }

  LOCKSTEP_HD void finish(const Place& /*place*/, const Wide& hashes) const { *draw.visits += hashes; }
};

}  // namespace

void choose_samples(StreamHandle stream, const MicroBatchDraw& draw) {
  for_each_row(stream, 1, ChooseSamples{draw});
}

}  // namespace lockstep::cuda
