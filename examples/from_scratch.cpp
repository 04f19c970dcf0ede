// The textbook loop of data-parallel training, piece by piece: every rank holds a copy of the parameters, the
// batch is split, each part goes forward and backward, the gradients are all-reduced, and every copy is
// updated alike. Ends with the digest of `lockstep train` with the same options.
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

/// One step on the samples at positions [first, first + samples) of the epoch.
void step(Replica& replica, GradientSum& gradients, const Permutation& order, std::uint64_t first,
          std::uint64_t samples, const Optimizer& optimizer, std::vector<float>& parameters) {
  // Split the batch into micro-batches of 32; this rank computes those from begin to end.
  const auto [begin, end] =
      gradients.start(static_cast<std::uint32_t>((samples + micro_batch - 1) / micro_batch));

  // Forward and backward on each part.
  for (std::uint64_t part = begin; part < end; ++part) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = part * micro_batch; i < std::min(samples, (part + 1) * micro_batch); ++i) {
      ids.push_back(order(first + i));
    }
    replica.forward_backward(ids, parameters, gradients.next());
    gradients.add();
  }

  // Add the gradients of all ranks; every rank gets the sum, and updates its copy in the same way.
  const std::span<const float> sum = gradients.all_reduce();
  optimizer.update(parameters, sum, {},
                   {.gradient_scale = 1.0F / static_cast<float>(samples), .learning_rate = learning_rate});
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv, [&](World& world) {
    const auto epochs = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 1);
    const DatasetPair data = open_dataset(world, "fashion-mnist");
    const auto network = make_model("lenet", data.train->shape(), data.train->classes());
    Replica replica(*network, *data.train, micro_batch);

    // Every rank computes the same first values: they depend on the seed only.
    std::vector<float> parameters(replica.elements());
    replica.initialize(seed, parameters);
    const auto optimizer = make_optimizer({.name = "sgd"});
    GradientSum gradients(world, replica.elements());

    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
      const Permutation order(data.train->size(), seed, epoch);
      for (std::uint64_t first = 0; first < data.train->size(); first += batch_size) {
        const std::uint64_t samples = std::min(batch_size, data.train->size() - first);
        step(replica, gradients, order, first, samples, *optimizer, parameters);
      }
    }
    if (world.rank() == 0) {
      std::printf("digest %s\n", replica.digest(parameters).c_str());
    }
    return 0;
  });
}
