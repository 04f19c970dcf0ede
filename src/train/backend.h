#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.h"
#include "lockstep/trainer.h"
#include "ops/plan.h"

namespace lockstep {

/// A device and the compiler of plans for it.
struct Backend {
  std::unique_ptr<Device> device;
  std::function<std::unique_ptr<Plan>(const Graph&, const ArenaLayout&, const PlanOptions&)> compile;
  std::string simd;
  int threads = 1;
};

Backend make_cpu_backend(const World& world, int threads, const std::string& simd);

/// Why this process cannot use CUDA, as the rest of a sentence; empty: it can.
std::string why_no_cuda();

}  // namespace lockstep
