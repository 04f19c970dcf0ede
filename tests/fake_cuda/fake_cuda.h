#pragma once

#include <cuda_runtime_api.h>

#include <set>
#include <string>
#include <vector>

#include "fake_cuda/grid.h"

/// Fake CUDA runtime with one GPU, linked instead of NVIDIA's. Work of streams, including kernels, runs on
/// the host. Only this work can access device memory, which initially holds garbage. Functions return the
/// same errors as CUDA, also during captures. Misuse that CUDA does not report, because it may only cause
/// wrong numbers, is a fault. A fault fails the test in which it happens; objects that still exist at exit
/// fail the program. Thread-safe; work runs on the thread that waits for it.
namespace lockstep::fake_cuda {

/// When work runs, within the limits set by streams and events.
enum class Order {
  late,      ///< when the host waits for it; nodes of a graph in the order of capture
  early,     ///< when it is submitted, unless it waits for a host function
  reversed,  ///< when the host waits for it; among ready nodes, the node captured last runs first
};
void set_order(Order order);

/// Advances the clock that events read. Called by work, or by the host.
void pass(double microseconds);
/// Makes the clock run like the host's, or stops it. The clock is initially stopped.
void run_clock(bool runs);

/// Makes call number `later` + 1 of a function return `code`. "kernel": work that runs; all later calls then
/// return the error, as with CUDA, until recover() is called. "any": counts calls of all functions, except
/// functions that free or destroy something, because destructors ignore errors.
void fail(const std::string& function, cudaError_t code, int later = 0);
void recover();
/// The function that failed because of "any"; empty if none has failed since the last call of fail().
std::string failed_function();

/// Facts about a GPU. Work runs on the first GPU.
struct Gpu {
  const char* name = "emulated";
  int major = 9, minor = 0;
  std::size_t memory = std::size_t{4} << 30;  ///< bytes
  int mode = 0;                               ///< compute mode, as NVML's number
  std::size_t free = 0;                       ///< bytes; 0: NVML does not report them
  unsigned processes = 0, nvlinks = 0;
};
/// Facts about the machine, as the runtime, NVML (the driver's library), cuDNN and NCCL report them.
struct MachineFacts {
  int driver_supports = CUDART_VERSION;  ///< 0: no driver
  const char* driver = "580.95.05";
  std::vector<Gpu> gpus = {{}};
  std::size_t cudnn = 91900;  ///< version; 0: no library
  int nccl = 22809;           ///< version; 0: no library
  int common_ancestor = -1;   ///< of two GPUs on PCIe, as NVML's number; -1: not reported
};
void set_facts(const MachineFacts& facts);
/// Returns the names of the runtime functions that were called since the last take_calls().
std::set<std::string> take_calls();

/// Returns the graphs captured since the last call, each as the names of its kernels, operations and copies
/// in order. The name of a kernel is the mangled name of its type.
std::vector<std::vector<std::string>> take_graphs();

/// Whether this thread is freeing memory; meanwhile, CUDA waits until all earlier work is done.
bool is_freeing();

/// Allocations of the calling thread so far.
struct Allocated {
  int allocations = 0;         ///< number of allocations of device memory
  std::size_t host_bytes = 0;  ///< of pinned memory
};
Allocated allocated_by_thread();

/// Returns the faults since the last call.
std::vector<std::string> take_faults();

/// Objects that exist, such as "2 streams, 1 event"; empty if there are none.
std::string live_objects();

}  // namespace lockstep::fake_cuda
