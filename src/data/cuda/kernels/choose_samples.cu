#include "core/permutation.h"
#include "data/augment/mixup.h"
#include "data/augment/placement.h"
#include "data/cuda/gather.h"

namespace lockstep::cuda {
namespace {

/// One row, so that the hashes of the samples' ids are summed: its terms are the samples.
struct ChooseSamples {
  using Sum = Wide;
  SampleChoice choice;
  StepLog log;
  std::uint32_t leaf;
  std::uint32_t samples;
  ChosenSamples chosen;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const { return samples; }

  LOCKSTEP_HD Wide term(std::size_t /*row*/, std::size_t i) const {
    const StepInput& input = log.input();
    const std::uint64_t position = input.first + std::uint64_t{leaf} * choice.micro_batch + i;
    const std::uint64_t id =
        choice.shuffled ? keyed_permutation(choice.size, choice.seed, input.epoch)(position) : position;
    place(i, id);
    if (chosen.ids != nullptr) chosen.ids[i] = id;
    if (chosen.labels != nullptr) chosen.labels[i] = choice.labels[id];
    if (choice.mixup > 0.0) mix(i, id);
    return hash_integer(id);
  }

  LOCKSTEP_HD void finish(std::size_t /*row*/, const Wide& hashes) const {
    if (chosen.visits != nullptr) *chosen.visits += hashes;
    if (chosen.random != nullptr) *chosen.random = {choice.seed, log.input().epoch};
  }

  LOCKSTEP_HD void place(std::size_t i, std::uint64_t id) const {
    const SampleVisit visit{choice.seed, log.input().epoch, id};
    PlacedSample placed;
    placed.place = id;
    if (choice.crop_padding > 0) {
      const Shift shift = draw_shift(choice.crop_padding, visit);
      placed.down = shift.down;
      placed.right = shift.right;
    }
    if (choice.flip > 0.0) placed.flipped = draw_flip(choice.flip, visit) ? 1 : 0;
    if (choice.cutout > 0) {
      const Corner corner = draw_cutout(choice.cutout, choice.shape, visit);
      placed.cut_row = corner.row;
      placed.cut_column = corner.column;
    }
    chosen.placed[i] = placed;
  }

  /// Partners are the micro-batch reversed: this sample is the partner of its own.
  LOCKSTEP_HD void mix(std::size_t i, std::uint64_t id) const {
    const StepInput& input = log.input();
    const auto number = static_cast<std::uint32_t>(input.first / choice.micro_batch) + leaf;
    chosen.shares[i] = mixup_share(choice.mixup, choice.seed, input.epoch, number);
    chosen.other_labels[samples - 1 - i] = choice.labels[id];
  }
};

}  // namespace

void choose_samples(StreamHandle stream, const SampleChoice& choice, const StepLog& log, std::uint32_t leaf,
                    std::uint32_t samples, const ChosenSamples& chosen) {
  for_each_row(stream, 1, ChooseSamples{choice, log, leaf, samples, chosen});
}

}  // namespace lockstep::cuda
