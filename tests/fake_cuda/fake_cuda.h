#pragma once

#include <cuda_runtime_api.h>

#include <set>
#include <string>
#include <vector>

#include "fake_cuda/grid.h"

/// CUDA's runtime with one GPU, linked in place of NVIDIA's: work of streams, kernels included, runs on the
/// host. Memory of the device is memory that only such work can access, and holds garbage at first. The
/// functions return the errors that CUDA returns, in captures too. What CUDA does not report, as it may only
/// show in wrong numbers, is a fault. Faults fail the test in which they happen; objects that are still there
/// at the end fail the program. Thread-safe; work runs on the thread that waits for it.
namespace lockstep::fake_cuda {

/// When work runs, as far as streams and events leave it open.
enum class Order {
  late,      ///< when the host waits for it; nodes of a graph as they were captured
  early,     ///< when it is submitted, unless it waits for a function of the host
  reversed,  ///< when the host waits for it; of the nodes that are ready, the one that was captured last
};
void set_order(Order order);

/// Advances the clock that events read. Called by work, or by the host.
void pass(double microseconds);
/// Whether the clock runs as the host's does. It stands still at first.
void run_clock(bool runs);

/// Makes a function return `code` in its next call but `later`. "kernel": the next work that runs; CUDA
/// returns such an error from all later calls, here until recover() is called. "any": all functions together,
/// except those that free something: destructors ignore their errors.
void fail(const std::string& function, cudaError_t code, int later = 0);
void recover();
/// The function that failed as one of "any"; empty: none since the last call of fail().
std::string failed_function();

/// Facts about a GPU. Work runs on the first one.
struct Gpu {
  const char* name = "emulated";
  int major = 9, minor = 0;
  std::size_t memory = std::size_t{4} << 30;  ///< bytes
  int mode = 0;                               ///< compute mode, by NVML's numbers
  std::size_t free = 0;                       ///< bytes; 0: NVML does not say
  unsigned processes = 0, nvlinks = 0;
};
/// Facts about the machine, as the runtime, NVML (the library of the driver), cuDNN and NCCL report them.
struct MachineFacts {
  int driver_supports = CUDART_VERSION;  ///< 0: no driver
  const char* driver = "580.95.05";
  std::vector<Gpu> gpus = {{}};
  std::size_t cudnn = 91900;  ///< version; 0: no library
  int nccl = 22809;           ///< likewise
  int common_ancestor = -1;   ///< of two GPUs on PCIe, by NVML's numbers; -1: NVML does not say
};
void set_facts(const MachineFacts& facts);
/// Names of the functions of the runtime that were called since the last call of this one.
std::set<std::string> take_calls();

/// Names of the kernels, operations and copies of each graph captured since the last call, in their order:
/// the mangled name of a kernel's type.
std::vector<std::vector<std::string>> take_graphs();

/// Whether this thread frees memory, for which CUDA waits until all earlier work is done.
bool is_freeing();

/// Allocations of the calling thread so far.
struct Allocated {
  int allocations = 0;         ///< of the device's memory
  std::size_t host_bytes = 0;  ///< of pinned memory
};
Allocated allocated_by_thread();

/// Faults since the last call.
std::vector<std::string> take_faults();

/// Objects that exist, such as "2 streams, 1 event"; empty: none.
std::string live_objects();

}  // namespace lockstep::fake_cuda
