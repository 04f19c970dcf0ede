#include "train/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "comm/world/gather.h"
#include "comm/world/watch_of.h"
#include "core/finite.h"
#include "lockstep/error.h"
#include "train/evaluator.h"

namespace lockstep {
namespace {

/// Number of leaves in a block: enough that waiting at the end of a block costs little, but no more than
/// about two seconds of work or 64 MiB of outputs. At least one for each thread, or GPU, of all ranks.
std::uint32_t leaves_in_block(const Session& session, const Network& network, std::uint32_t micro_batch) {
  constexpr double seconds = 2.0;
  constexpr double bytes = 64 << 20;
  constexpr double most = 100;  // per thread or GPU: a CUDA graph of more kernels starts slowly
  const std::vector<std::uint64_t> counts =
      all_gather(session.between_hosts(), static_cast<std::uint64_t>(session.backend().threads()));
  const auto executors = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double leaf_seconds = forward_seconds(session, network, micro_batch) * session.world().size();
  const double leaf_bytes = 1.0 * micro_batch * network.classes() * sizeof(float);
  const double by_time = executors * std::clamp(seconds / std::max(leaf_seconds, 1e-9), 1.0, most);
  return static_cast<std::uint32_t>(std::max(executors, std::min(by_time, bytes / leaf_bytes)));
}

/// Texts of all ranks, joined in rank order. Collective.
std::string gather_text(const World& world, std::string own) {
  const std::uint64_t length = own.size();
  const std::vector<std::uint64_t> lengths = gather(world, std::span(&length, 1));
  const std::uint64_t longest = std::ranges::max(lengths);
  if (longest == 0) return {};
  own.resize(longest);
  const std::vector<char> padded = gather(world, own);
  std::string all;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    all.append(padded.data() + rank * longest, lengths[rank]);
  }
  return all;
}

/// Samples of all ranks in rank order. Collective.
std::vector<UnreadableSample> gather_samples(const World& world, std::span<const UnreadableSample> own) {
  std::vector<std::string> texts;  // alternating numbers and reasons
  for (const UnreadableSample& one : own) {
    texts.insert(texts.end(), {std::to_string(one.sample), one.reason});
  }
  texts = unpack(gather_text(world, pack(texts)));
  std::vector<UnreadableSample> samples;
  for (std::size_t i = 1; i < texts.size(); i += 2) samples.push_back({std::stoull(texts[i - 1]), texts[i]});
  return samples;
}

/// Returns `unreadable` and the samples of the block whose outputs are not finite, in ascending order.
/// `first`: first sample of the block; `values`: outputs of the block, `outputs` per sample.
std::vector<UnreadableSample> with_not_finite(std::span<const UnreadableSample> unreadable,
                                              const Dataset& dataset, std::uint64_t first,
                                              std::span<const float> values, std::size_t outputs) {
  std::vector<UnreadableSample> samples;
  for (std::uint64_t id = first; !values.empty(); ++id, values = values.subspan(outputs)) {
    if (!unreadable.empty() && unreadable.front().sample == id) {
      samples.push_back(unreadable.front());
      unreadable = unreadable.subspan(1);
    } else if (!all_finite(values.first(outputs))) {
      samples.push_back({.sample = id,
                         .reason = fmt::format("{}: the outputs of the network are not finite: check the "
                                               "sample and the model",
                                               dataset.sample_name(id)),
                         .is_not_finite = true});
    }
  }
  return samples;
}

}  // namespace

Predictor::Predictor(const Session& session, CompiledGraph& graph, const Network& network,
                     const Dataset& dataset, std::uint32_t micro_batch, std::span<const float> parameters,
                     const InputOptions& input)
    : session_(session),
      parameters_(parameters),
      outputs_(static_cast<std::size_t>(network.classes())),
      loader_(dataset, micro_batch, input),
      leaves_(loader_.leaves(dataset.size())),
      leaves_in_block_(std::min(leaves_in_block(session, network, micro_batch), leaves_)),
      runners_(make_runners(session, graph, loader_, leaves_in_block_)),
      blocks_((std::uint64_t{leaves_} + leaves_in_block_ - 1) / leaves_in_block_),
      gather_(session.world()) {
  loader_.set_step(0, dataset.size());
  loader_.bad_samples().keep_places();
  session.world().agree([&] {
    const auto rank = static_cast<std::size_t>(session.world().rank());
    const std::size_t most = std::max(values_of(leaves_of(0), rank), values_of(leaves_of(blocks_ - 1), rank));
    own_ = session.device().allocate(std::max<std::size_t>(most, 1) * sizeof(float));
    on_host_.emplace(session.device(), own_);
    if (rank == 0) all_.resize(std::size_t{leaves_in_block_} * micro_batch * outputs_);
  });
}

Predictor::Leaves Predictor::leaves_of(std::uint64_t block) const {
  const auto first = static_cast<std::uint32_t>(block * leaves_in_block_);
  return {first, session_.assign(std::min(leaves_in_block_, leaves_ - first), runners_.size())};
}

std::uint64_t Predictor::position(std::uint64_t leaf) const {
  return std::min(leaf * loader_.micro_batch(), loader_.dataset().size());
}

/// Number of outputs that a rank computes.
std::size_t Predictor::values_of(const Leaves& leaves, std::size_t rank) const {
  const std::vector<std::uint32_t>& bounds = leaves.assignment.ranks;
  return (position(leaves.first + bounds[rank + 1]) - position(leaves.first + bounds[rank])) * outputs_;
}

/// Announces the samples of all blocks.
void Predictor::expect() {
  std::vector<std::vector<SampleRange>> coming(runners_.size());
  for (std::uint64_t block = 0; block < blocks_; ++block) {
    const Leaves leaves = leaves_of(block);
    const std::vector<std::uint32_t>& bounds = leaves.assignment.executors;
    for (std::size_t e = 0; e < runners_.size(); ++e) {
      const std::uint64_t first = position(leaves.first + bounds[e]);
      coming[e].push_back({first, position(leaves.first + bounds[e + 1]) - first});
    }
  }
  for (std::size_t e = 0; e < runners_.size(); ++e) runners_[e]->expect(coming[e]);
}

/// Computes this rank's part of the block.
void Predictor::compute(const Leaves& leaves) {
  const std::vector<std::uint32_t>& bounds = leaves.assignment.executors;
  const std::uint64_t begin = position(leaves.first + bounds.front());
  const auto program = session_.device().record([&] {
    const auto streams = session_.device().streams().first(runners_.size());
    for (std::size_t e = 0; e < streams.size(); ++e) {
      Stream& stream = *streams[e];
      LeafRunner& runner = *runners_[e];
      if (!prepared_) runner.prepare(stream, parameters_.data());
      for (std::uint32_t leaf = leaves.first + bounds[e]; leaf < leaves.first + bounds[e + 1]; ++leaf) {
        runner.load(stream, leaf);
        runner.forward(stream, runner.nodes(), parameters_.data(), nullptr);
        runner.write_outputs(stream, own_.floats().data() + (position(leaf) - begin) * outputs_);
      }
    }
    for (std::size_t e = 1; e < streams.size(); ++e) streams[0]->wait(streams[e]->record());
  });
  session_.run(*program);
  prepared_ = true;
  const InCollective waiting(watch_of(session_.world()), Collective::device, Group::alone);
  on_host_->fetch();
}

/// Gathers the outputs of the block into all_ on rank 0.
void Predictor::gather(const Leaves& leaves) {
  std::vector<std::size_t> counts(leaves.assignment.ranks.size() - 1);
  for (std::size_t rank = 0; rank < counts.size(); ++rank) counts[rank] = values_of(leaves, rank);
  const auto own = static_cast<std::size_t>(session_.world().rank());
  gather_.gather(on_host_->floats().first(counts[own]), counts, all_);
}

/// Removes the unreadable samples before `end` from every rank's list, and returns those of all ranks on all
/// ranks.
std::vector<UnreadableSample> Predictor::take_unreadable(std::uint64_t end) {
  for (auto& [id, reason] : loader_.bad_samples().take()) unreadable_.push_back({id, std::move(reason)});
  std::ranges::sort(unreadable_, {}, &UnreadableSample::sample);
  const auto later = std::ranges::lower_bound(unreadable_, end, {}, &UnreadableSample::sample);
  const std::vector<UnreadableSample> own(unreadable_.begin(), later);
  unreadable_.erase(unreadable_.begin(), later);
  return gather_samples(session_.world(), own);
}

void Predictor::run(const std::function<void(const OutputBlock&)>& take) {
  const World& world = session_.world();
  const InStage in(watch_of(world), Stage::evaluation);
  expect();
  for (std::uint64_t block = 0; block < blocks_; ++block) {
    const Leaves leaves = leaves_of(block);
    compute(leaves);
    gather(leaves);
    const std::uint64_t first = position(leaves.first);
    const std::uint64_t end = position(leaves.first + leaves.assignment.leaves);
    const std::vector<UnreadableSample> unreadable = take_unreadable(end);
    world.agree([&] {
      if (world.rank() != 0) return;
      const std::span<float> values = std::span(all_).first((end - first) * outputs_);
      for (const UnreadableSample& bad : unreadable) {
        std::ranges::fill(values.subspan((bad.sample - first) * outputs_, outputs_),
                          std::numeric_limits<float>::quiet_NaN());
      }
      const std::vector<UnreadableSample> failed =
          with_not_finite(unreadable, loader_.dataset(), first, values, outputs_);
      take({first, end - first, values, failed});
    });
  }
}

}  // namespace lockstep
