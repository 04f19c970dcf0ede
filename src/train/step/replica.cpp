#include "lockstep/replica.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/feed/micro_batch_reader.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/pinning.h"
#include "lockstep/error.h"
#include "ops/cpu/cpu_plan.h"
#include "train/check_options.h"
#include "train/session/parameter_set.h"

namespace lockstep {

class Replica::Implementation {
 public:
  Implementation(const Network& network, const Dataset& dataset, const ReplicaOptions& options)
      : network_(fitting(network, dataset, options.micro_batch)),
        layout_(layout_arena(network.parameters())),
        device_(make_cpu_device({.threads = 1, .pin = false})),
        transform_(options.input, dataset, options.augment, options.seed),
        plan_(build_graph(network), layout_, {.samples = options.micro_batch, .task = dataset.task()},
              cpu::best_level()),
        workspace_(device_->allocate(plan_.workspace_bytes())),
        micro_batch_(static_cast<std::size_t>(options.micro_batch)),
        samples_(dataset.size()),
        bad_samples_(true),
        reader_(dataset, transform_, bad_samples_, micro_batch_) {}

  Result forward_backward(std::span<const std::uint64_t> ids, Position position,
                          std::span<const float> parameters, std::span<float> gradient) {
    if (ids.empty() || ids.size() > micro_batch_) {
      throw Error(Category::usage,
                  fmt::format("a micro-batch of {} samples was given to a replica for up to {}", ids.size(),
                              micro_batch_));
    }
    if (const std::uint64_t last = std::ranges::max(ids); last >= samples_) {
      throw Error(Category::usage,
                  fmt::format("there is no sample {}: the data set has {}, numbered from 0", last, samples_));
    }
    expect_length(parameters.size());
    expect_length(gradient.size());
    const ThreadState caller;  // restores the caller's treatment of denormals
    flush_denormals_to_zero();
    MicroBatchRule rule = transform_.rule();
    rule.epoch = position.epoch;
    const MicroBatch& batch = reader_.read(rule, position.number, ids);
    plan_.load(batch, transform_.format(), workspace_.data());
    LeafResult result;
    plan_.forward(batch, plan_.all_and_loss(), parameters.data(), &result, workspace_.data());
    plan_.backward(batch, plan_.all(), parameters.data(), gradient.data(), workspace_.data());
    return {result.loss, result.correct};
  }

  void expect_length(std::size_t length) const {
    if (length != layout_.elements) {
      throw Error(Category::usage, fmt::format("an array of {} floats was given to a replica of {}", length,
                                               layout_.elements));
    }
  }

  static const Network& fitting(const Network& network, const Dataset& dataset, int micro_batch) {
    if (micro_batch < 1) {
      throw Error(Category::usage, fmt::format("a micro-batch of {} samples is impossible", micro_batch));
    }
    check_fit(network, dataset);
    check_targets(dataset);
    return network;
  }

  const Network& network_;
  ArenaLayout layout_;
  std::unique_ptr<Device> device_;
  Transform transform_;
  cpu::CpuPlan plan_;
  Buffer workspace_;
  std::size_t micro_batch_;
  std::uint64_t samples_;  ///< of the data set
  BadSamples bad_samples_;
  MicroBatchReader reader_;
};

Replica::Replica(const Network& network, const Dataset& dataset, const ReplicaOptions& options)
    : implementation_(std::make_unique<Implementation>(network, dataset, options)) {}
Replica::~Replica() = default;

std::size_t Replica::elements() const { return implementation_->layout_.elements; }

std::size_t Replica::offset(std::size_t parameter) const {
  const std::vector<std::size_t>& offsets = implementation_->layout_.offsets;
  if (parameter >= offsets.size()) {
    throw Error(Category::usage, fmt::format("there is no parameter {}: the network has {}, numbered from 0",
                                             parameter, offsets.size()));
  }
  return offsets[parameter];
}

void Replica::initialize(std::span<float> parameters) const {
  implementation_->expect_length(parameters.size());
  initialize_parameters(implementation_->network_.parameters(), implementation_->layout_,
                        implementation_->transform_.rule().seed, parameters.data());
}

Replica::Result Replica::forward_backward(std::span<const std::uint64_t> ids, Position position,
                                          std::span<const float> parameters, std::span<float> gradient) {
  return implementation_->forward_backward(ids, position, parameters, gradient);
}

std::string Replica::digest(std::span<const float> parameters) const {
  implementation_->expect_length(parameters.size());
  return digest_of(implementation_->network_.parameters(), implementation_->layout_, parameters);
}

}  // namespace lockstep
