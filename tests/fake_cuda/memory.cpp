#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fake_cuda/kernel_arguments.h"
#include "fake_cuda/machine.h"

namespace lockstep::fake_cuda {
namespace {

constexpr std::size_t page = 4096;
constexpr auto garbage = std::byte{0xcb};

thread_local bool freeing = false;

}  // namespace

std::map<const std::byte*, Allocation>::iterator Machine::allocation_of(const void* address) {
  auto next = allocations.upper_bound(static_cast<const std::byte*>(address));
  if (next == allocations.begin()) return allocations.end();
  --next;
  const auto inside = static_cast<std::size_t>(static_cast<const std::byte*>(address) - next->first);
  return inside < next->second.mapped ? next : allocations.end();
}

std::optional<Kind> Machine::check_range(const char* function, const void* address, std::size_t bytes) {
  const auto found = allocation_of(address);
  if (found == allocations.end()) return std::nullopt;
  const auto before = static_cast<std::size_t>(static_cast<const std::byte*>(address) - found->first);
  if (before + bytes > found->second.bytes) {
    fault(fmt::format("{}: bytes {} to {} of an allocation of {} bytes", function, before, before + bytes,
                      found->second.bytes));
  }
  return found->second.kind;
}

cudaError_t Machine::allocate(void** address, std::size_t bytes, Kind kind) {
  if (const cudaError_t code = refuse_in_strict_captures(); code != cudaSuccess) return code;
  if (kind == Kind::device && device_bytes + bytes > facts.gpus.front().memory)
    return cudaErrorMemoryAllocation;
  const std::size_t mapped =
      (bytes / page + 1) * page;  // includes the end, so no other allocation begins there
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return cudaErrorMemoryAllocation;
  std::fill_n(static_cast<std::byte*>(memory), mapped, garbage);
  if (kind == Kind::host) allocated().host_bytes += bytes;
  if (kind == Kind::device) {
    device_bytes += bytes;
    ++allocated().allocations;
    if (open_count == 0) mprotect(memory, mapped, PROT_NONE);
  }
  allocations[static_cast<const std::byte*>(memory)] = {bytes, mapped, kind};
  *address = memory;
  return cudaSuccess;
}

void Machine::finish_left_behind(std::unique_lock<std::mutex>& lock, const void* freed,
                                 const char* function) {
  for (const auto& last : std::exchange(left_behind, {})) {
    for (const auto& task : unfinished(last)) {
      for (const Work& work : task->works) {
        if (work.name != "copy" || std::ranges::find(work.memory, freed) == work.memory.end()) continue;
        fault(fmt::format("{}: a copy, whose stream was destroyed, may still use the memory", function));
      }
    }
    run(lock, last);
  }
}

cudaError_t Machine::release(std::unique_lock<std::mutex>& lock, void* address, Kind kind,
                             const char* function) {
  if (address == nullptr) return cudaSuccess;
  if (const cudaError_t code = refuse_in_strict_captures(); code != cudaSuccess) return code;
  freeing = true;
  for (auto& [handle, stream] : streams) {  // waits for earlier work, as CUDA does
    if (stream.thread == std::this_thread::get_id() && stream.last) run(lock, stream.last);
  }
  finish_left_behind(lock, address, function);
  freeing = false;
  const auto found = allocations.find(static_cast<const std::byte*>(address));
  if (found == allocations.end() || found->second.kind != kind) {
    fault(fmt::format("{}: not allocated by the matching function, or freed before", function));
    return cudaErrorInvalidValue;
  }
  const Allocation memory = found->second;
  allocations.erase(found);
  mprotect(address, memory.mapped, PROT_READ | PROT_WRITE);
  const auto* begin = static_cast<const std::byte*>(address);
  if (!std::all_of(begin + memory.bytes, begin + memory.mapped,
                   [](std::byte each) { return each == garbage; })) {
    fault(fmt::format("{}: something was written behind an allocation of {} bytes", function, memory.bytes));
  }
  if (kind == Kind::device) device_bytes -= memory.bytes;
  munmap(address, memory.mapped);
  return cudaSuccess;
}

void Machine::open(bool opened) {
  open_count += opened ? 1 : -1;
  if (open_count != (opened ? 1 : 0)) return;
  for (const auto& [address, memory] : allocations) {
    if (memory.kind != Kind::device) continue;
    mprotect(const_cast<std::byte*>(address), memory.mapped, opened ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

bool is_freeing() { return freeing; }

cudaError_t launch(cudaStream_t stream, const char* name, std::span<const std::byte> arguments,
                   std::function<void()> work) {
  return call("cudaLaunchKernelEx", [&](Machine& all, auto& lock) {
    if (last_error() != cudaSuccess) all.fault(readable(name) + ": an earlier call left an error behind");
    if (stream == nullptr) {
      all.open(true);
      lock.unlock();
      work();
      lock.lock();
      all.open(false);
      return cudaSuccess;
    }
    StreamState* state = all.find(stream, "cudaLaunchKernelEx");
    if (state == nullptr) return cudaErrorInvalidResourceHandle;
    Work kernel{name, std::move(work)};
    for (const void* address : addresses_in(arguments)) {
      const auto found = all.allocation_of(address);
      if (found != all.allocations.end()) {
        kernel.memory.push_back(found->first);
      } else if (is_mapped(address)) {
        all.fault(readable(name) + ": an argument is an address of the host");
      }
    }
    return all.submit(lock, *state, std::move(kernel));
  });
}

}  // namespace lockstep::fake_cuda

namespace fake = lockstep::fake_cuda;

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  return fake::call("cudaMalloc", [&](fake::Machine& all, auto&) {
    return all.allocate(address, bytes, fake::Kind::device);
  });
}

cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  return fake::call("cudaMallocHost", [&](fake::Machine& all, auto&) {
    return all.allocate(address, bytes, fake::Kind::host);
  });
}

cudaError_t cudaFree(void* address) {
  return fake::call("cudaFree", [&](fake::Machine& all, auto& lock) {
    return all.release(lock, address, fake::Kind::device, "cudaFree");
  });
}

cudaError_t cudaFreeHost(void* address) {
  return fake::call("cudaFreeHost", [&](fake::Machine& all, auto& lock) {
    return all.release(lock, address, fake::Kind::host, "cudaFreeHost");
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return fake::call("cudaMemGetInfo", [&](fake::Machine& all, auto&) {
    *total = all.facts.gpus.front().memory;
    *free = *total - std::min(*total, all.device_bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return fake::call_on(stream, "cudaMemsetAsync", [&](auto& all, auto& lock, auto& state) {
    if (all.check_range("cudaMemsetAsync", to, bytes) != fake::Kind::device) {
      all.fault("cudaMemsetAsync: not memory of the device");
      return cudaErrorInvalidValue;
    }
    return all.submit(lock, state,
                      {"memset", [=] { std::memset(to, value, bytes); }, {all.allocation_of(to)->first}});
  });
}

/// If host memory is not pinned, CUDA copies before it returns, or copies from a duplicate of the source. In
/// a capture, CUDA would record the address, as for pinned memory; here that is a fault.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return fake::call_on(stream, "cudaMemcpyAsync", [&](auto& all, auto& lock, auto& state) {
    const auto to_kind = all.check_range("cudaMemcpyAsync", to, bytes);
    const auto from_kind = all.check_range("cudaMemcpyAsync", from, bytes);
    if (kind == cudaMemcpyHostToDevice && (to_kind != fake::Kind::device || from_kind == fake::Kind::device))
      return cudaErrorInvalidValue;
    fake::Work copy{"copy", [=] { std::memmove(to, from, bytes); }};
    if (to_kind) copy.memory.push_back(all.allocation_of(to)->first);
    if (from_kind) copy.memory.push_back(all.allocation_of(from)->first);
    if (from_kind == fake::Kind::host) copy.source = {static_cast<const std::byte*>(from), bytes};
    if (to_kind && from_kind) return all.submit(lock, state, std::move(copy));
    if (state.capture) {
      all.fault("cudaMemcpyAsync: memory of the host in a capture is not pinned");
      return fake::Machine::refuse_in_capture(state);
    }
    if (!from_kind) {
      const auto* begin = static_cast<const std::byte*>(from);
      copy.run = [to, staged = std::vector(begin, begin + bytes)] {
        std::memcpy(to, staged.data(), staged.size());
      };
    }
    const cudaError_t code = all.submit(lock, state, std::move(copy));
    return code == cudaSuccess && !to_kind ? all.run(lock, state.last) : code;
  });
}
