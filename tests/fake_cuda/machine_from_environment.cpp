// Describes the machine of a whole program by environment variables:
//   CUDA_VISIBLE_DEVICES   one GPU per name; one GPU if the variable is not set
//   FAKE_CUDA_FAILURE      "RANK FUNCTION CODE CALL": the call of a runtime function that fails on a rank.
//                          "1 cudaMalloc 2 9": call 9 of cudaMalloc on rank 1 fails with code 2. A kernel
//                          that runs is a call of "kernel"
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "fake_cuda/fake_cuda.h"

namespace lockstep::fake_cuda {
namespace {

void describe_gpus() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return;
  const std::string names(visible);
  const auto count = names.empty() ? 0 : 1 + std::ranges::count(names, ',');
  MachineFacts facts;
  facts.gpus.resize(static_cast<std::size_t>(count));
  set_facts(facts);
}

void plan_failure() {
  const char* const failure = std::getenv("FAKE_CUDA_FAILURE");
  const char* const own_rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (failure == nullptr || own_rank == nullptr) return;
  std::string rank, function;
  int code = 0, call = 0;
  std::istringstream(failure) >> rank >> function >> code >> call;
  if (rank == own_rank) fail(function, static_cast<cudaError_t>(code), call - 1);
}

const bool described = [] {
  describe_gpus();
  plan_failure();
  run_clock(true);
  return true;
}();

}  // namespace
}  // namespace lockstep::fake_cuda
