#include "cli/doctor/self_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/world/gather.h"
#include "core/clock.h"
#include "lockstep/models.h"
#include "lockstep/trainer.h"

namespace lockstep {
namespace {

constexpr std::uint32_t micro_batch_samples = 32;

/// Number of micro-batches: a power of two, at least eight and at least one per rank.
std::uint32_t micro_batches(int ranks) {
  return std::bit_ceil(std::max(8U, static_cast<std::uint32_t>(ranks)));
}

/// Trains on the ranks of `world` and returns the digest. `leaves`: number of micro-batches, independent of
/// the number of these ranks.
std::string train(const World& world, const ExecutionOptions& execution, std::uint32_t leaves) {
  const std::uint32_t batch = leaves * micro_batch_samples;
  // Three steps: two full ones, and one of a few samples, in which most ranks have no work.
  const DatasetPair data = open_dataset(
      world, {.name = "synthetic", .shape = {1, 28, 28}, .samples = 2 * batch + micro_batch_samples + 5});
  const auto network = make_model("lenet", data.train->shape(), data.train->classes());
  Trainer trainer(world, *network, *data.train, *data.test,
                  {.epochs = 1,
                   .batch = {.size = static_cast<int>(batch), .micro_batches = static_cast<int>(leaves)},
                   .learning_rate = 0.2,
                   .execution = execution});
  trainer.fit();
  return trainer.digest();
}

/// Describes how the digests of all ranks differ from each other, or from `alone`, the digest of rank 0
/// alone; empty if all are equal. `alone` is empty on the other ranks.
std::string difference(const std::vector<std::string>& digests, const std::string& alone) {
  for (std::size_t i = 1; i < digests.size(); ++i) {
    if (digests[i] != digests[0]) {
      return fmt::format("rank {} has digest {}, rank 0 {}", i, digests[i], digests[0]);
    }
  }
  if (!alone.empty() && alone != digests[0]) {
    return fmt::format("{} rank(s) gave digest {}, then rank 0 alone {}", digests.size(), digests[0], alone);
  }
  return {};
}

}  // namespace

Finding run_self_test(const World& world, const ExecutionOptions& execution) {
  const double start = steady_seconds();
  const std::uint32_t leaves = micro_batches(world.size());
  const FixedText<64> own = train(world, execution, leaves);
  std::vector<std::string> digests;
  for (const auto& digest : gather(world, std::span(&own, 1))) digests.push_back(digest.text());
  const auto devices = gather(world, std::span(&execution.device, 1));
  const bool is_mixed = std::ranges::count(devices, execution.device) < world.size();
  ExecutionOptions execution_alone = execution;
  execution_alone.rank_weights.clear();
  std::string alone;
  world.agree([&] {  // the other ranks wait here
    if (world.rank() == 0 && !is_mixed) alone = train(world.alone(), execution_alone, leaves);
  });
  const std::string failure = difference(digests, alone);
  if (!failure.empty()) {
    return {"self-test", failure, Finding::State::missing,
            "ranks compute different numbers: compare the hosts' versions and hardware, and report it"};
  }
  const char* const where = is_mixed           ? "on all ranks"
                            : world.size() > 1 ? "on all ranks and on one alone"
                                               : "twice";
  return {"self-test", fmt::format("the same digest {} ({:.1f} s)", where, steady_seconds() - start)};
}

}  // namespace lockstep
