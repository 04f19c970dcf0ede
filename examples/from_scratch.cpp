// The loop of data-parallel training as in a textbook. Every rank has a copy of the parameters. A batch is
// split, each part is computed forward and backward, the gradients are all-reduced, and every rank updates
// its copy in the same way. Ends with the digest of `lockstep train` with the same options.
//
//   mpirun -np 2 from_scratch [EPOCHS]
#include <lockstep/dataset.h>
#include <lockstep/models.h>
#include <lockstep/optimizer.h>
#include <lockstep/replica.h>
#include <lockstep/sampler.h>
#include <lockstep/world.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace lockstep;

namespace {

constexpr std::uint64_t batch_size = 256;
constexpr std::uint64_t micro_batch = 32;
constexpr std::uint64_t seed = 0;
constexpr float learning_rate = 0.2F;

/// State of a rank.
struct Run {
  const Network& network;
  Replica& replica;
  GradientSum& gradients;
  const Optimizer& optimizer;
  std::vector<float>& parameters;
};

/// Updates the parameters with the sum of the gradients of `samples` samples.
void update(const Run& run, std::span<const float> sum, std::uint64_t samples) {
  const float scale = 1.0F / static_cast<float>(samples);
  for (std::size_t i = 0; i < run.network.parameters().size(); ++i) {
    const Parameter& parameter = run.network.parameters()[i];
    const std::size_t offset = run.replica.offset(i);
    const auto values = std::span(run.parameters).subspan(offset, parameter.size());
    const auto sums = sum.subspan(offset, parameter.size());
    if (parameter.trained()) {
      run.optimizer.update(values, sums, {}, {.gradient_scale = scale, .learning_rate = learning_rate});
      continue;
    }
    // A running statistic moves towards the mean of the observed values (LeNet has none).
    const auto keep = static_cast<float>(1.0 - parameter.statistic_momentum);
    const auto take = static_cast<float>(parameter.statistic_momentum);
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = keep * values[k] + take * (sums[k] * scale);
    }
  }
}

/// One step on the samples at positions [first, first + samples) of the epoch.
void step(const Run& run, const Permutation& order, std::uint32_t epoch, std::uint64_t first,
          std::uint64_t samples) {
  // Split the batch into micro-batches of 32; this rank computes [begin, end).
  const auto [begin, end] =
      run.gradients.start(static_cast<std::uint32_t>((samples + micro_batch - 1) / micro_batch));

  // Compute each part forward and backward.
  for (std::uint64_t part = begin; part < end; ++part) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = part * micro_batch; i < std::min(samples, (part + 1) * micro_batch); ++i) {
      ids.push_back(order(first + i));
    }
    const auto number = static_cast<std::uint32_t>(first / micro_batch + part);
    run.replica.forward_backward(ids, {.epoch = epoch, .number = number}, run.parameters,
                                 run.gradients.next());
    run.gradients.add();
  }

  // Add the gradients of all ranks. Every rank gets the sum and updates its copy in the same way.
  update(run, run.gradients.all_reduce(), samples);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv, [&](World& world) {
    const auto epochs = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 1);
    const DatasetPair data = open_dataset(world, {.name = "fashion-mnist"});
    const auto network = make_model("lenet", data.train->shape(), data.train->classes());
    Replica replica(*network, *data.train, {.micro_batch = micro_batch, .seed = seed});

    // Every rank computes the same first values, which depend only on the seed.
    std::vector<float> parameters(replica.elements());
    replica.initialize(parameters);
    const Optimizer optimizer({.name = "sgd"});
    GradientSum gradients(world, replica.elements());
    const Run run{*network, replica, gradients, optimizer, parameters};

    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
      const Permutation order(data.train->size(), seed, epoch);
      for (std::uint64_t first = 0; first < data.train->size(); first += batch_size) {
        const std::uint64_t samples = std::min(batch_size, data.train->size() - first);
        step(run, order, epoch, first, samples);
      }
    }
    if (world.rank() == 0) {
      std::printf("digest %s\n", replica.digest(parameters).c_str());
    }
    return 0;
  });
}
