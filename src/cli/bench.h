#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/dataset.h"
#include "lockstep/input.h"
#include "lockstep/trainer.h"
#include "lockstep/world.h"

namespace lockstep {

struct BenchOptions {
  std::string what;
  std::string model = "lenet";
  std::string dataset = "fashion-mnist";
  DatasetOptions data;
  InputOptions input;
  std::uint32_t batch_size = 256;
  std::uint32_t micro_batches = 0;
  Reduce reduce = Reduce::automatic;
  ExecutionOptions execution;
  int steps = 200;
  int rounds = 21;
};

/// The measurements of `lockstep bench`; each prints on rank 0 and returns the exit status. Collective.
int bench_allreduce(World& world, const BenchOptions& options);
int bench_data(World& world, const BenchOptions& options);
int bench_step(World& world, const BenchOptions& options);

/// The middle one of `values`, of which there is at least one.
double median(std::vector<double> values);

}  // namespace lockstep
