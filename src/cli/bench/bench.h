#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/model/model_options.h"
#include "cli/results.h"
#include "device/device.h"
#include "lockstep/dataset.h"
#include "lockstep/input.h"
#include "lockstep/training_options.h"
#include "lockstep/world.h"

namespace lockstep {

struct BenchOptions {
  std::string what;
  ModelOptions model;
  DatasetOptions data;
  InputOptions input;
  AugmentOptions augment;
  BatchOptions batch;
  Reduce reduce = Reduce::canonical;
  ExecutionOptions execution;
  int steps = 200;
  int rounds = 21;
  bool kernel_times = false;
  ResultOptions results;
};

/// The measurements of `lockstep bench`; each prints on rank 0 and returns the exit status. Collective.
int bench_allreduce(World& world, const BenchOptions& options);
int bench_data(World& world, const BenchOptions& options);
int bench_ops(World& world, const BenchOptions& options);
int bench_step(World& world, const BenchOptions& options);

/// Terms of one rank for a sum of `elements` floats: small whole numbers, whose sum is exact in any order.
std::vector<float> terms_of_rank(int rank, std::size_t elements);
/// Throws Error(internal) unless `sum` is the sum of the terms of all ranks. `way` names the kind of sum in
/// the message.
void check_sum(std::span<const float> sum, int ranks, const std::string& way);

/// The same options with one thread per rank.
inline ExecutionOptions one_thread(ExecutionOptions execution) {
  execution.threads = 1;
  return execution;
}

/// Measures programs of a device, which must outlive the timer.
class ProgramTimer {
 public:
  explicit ProgramTimer(Device& device);
  /// Runs `program` `runs` times, waits for the device and returns the total seconds.
  double seconds(Program& program, int runs = 1);

 private:
  Device& device_;
  Buffer looked_at_;
};

/// Median of `values`, which are not empty.
double median(std::vector<double> values);

}  // namespace lockstep
