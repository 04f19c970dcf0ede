#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <span>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

/// Runs grids of kernels that the host compiler has compiled.
namespace lockstep::fake_cuda {

/// Order in which blocks of a grid and threads of a block run. No result may depend on it.
enum class Threads {
  ascending,   ///< blocks one after another; in a block, all threads in this order up to each barrier
  descending,  ///< same, in descending order
  shuffled,    ///< same, in a shuffled order
  at_once,     ///< like `ascending`, but a block's threads are threads of the host, for the thread sanitizer
};
/// Sets the order for grids that run from now on.
void set_threads(Threads threads);
Threads threads_of_blocks();

// Used by kernels.
struct Index {
  unsigned x = 0;
};
extern thread_local Index block_index;
extern thread_local unsigned thread_index;  ///< set only with Threads::at_once
void wait_for_block();
void wait_for_warp();

/// Order of visiting [0, count): starts at `first` and advances by `stride`, modulo count.
struct Way {
  unsigned first, stride;
};
/// Way through [0, count) for the order threads_of_blocks().
Way way_through(unsigned count);

/// Calls use(i) for each i in [0, count) in the order of threads_of_blocks().
template <class Use>
void visit(unsigned count, const Use& use) {
  const Way way = way_through(count);
  for (unsigned i = 0, at = way.first; i < count; ++i) {
    use(at);
    at += way.stride;
    if (at >= count) at -= count;
  }
}

/// Launch of a kernel.
struct Grid {
  const char* type;  ///< mangled type of the kernel
  unsigned blocks, threads;
  std::vector<std::span<const std::byte>> arguments;
};
/// Runs a grid. Calls `kernel` once per block or, with Threads::at_once, once per thread of each block.
void run_grid(const Grid& grid, const std::function<void()>& kernel);

/// Replaces run_grid for grids that run later; `on_host` runs the grid as run_grid would.
using Runner = std::function<void(const Grid& grid, const std::function<void()>& on_host)>;
void set_runner(Runner replacement);

/// For tests of the sanitizer: makes all threads pass the barrier with this number in each block without
/// waiting. -1: no barrier.
void leave_out_barrier(int number);

/// Adds `work` to a stream as a kernel with these arguments. Faults: host addresses in the arguments, memory
/// that is freed before the kernel runs, and an uncleared error of an earlier call. On the null stream, which
/// only tests of single kernels use, the kernel runs immediately and may use host memory. `name`: name of the
/// kernel, or the mangled name of its type.
cudaError_t launch(cudaStream_t stream, const char* name, std::span<const std::byte> arguments,
                   std::function<void()> work);

/// Appends the bytes of an argument. Clears the padding between its members, which may hold anything; with a
/// compiler that cannot clear padding (Clang 14), appends nothing.
template <class Argument>
void append_bytes([[maybe_unused]] std::vector<std::byte>& bytes, [[maybe_unused]] Argument argument) {
  static_assert(std::is_trivially_copyable_v<Argument>, "a launch copies bytes");
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  if constexpr (std::is_class_v<Argument>) {
    bytes.resize((bytes.size() + alignof(void*) - 1) / alignof(void*) * alignof(void*));
    __builtin_clear_padding(&argument);
    const auto members = std::as_bytes(std::span(&argument, 1));
    bytes.insert(bytes.end(), members.begin(), members.end());
  }
#endif
#endif
}

/// Adds a grid to a stream, named after the type of its last argument.
template <class... Arguments, class... Given>
cudaError_t launch_kernel(cudaStream_t stream, unsigned blocks, unsigned threads,
                          void (*kernel)(Arguments...), Given&&... given) {
  const std::tuple<Arguments...> arguments(std::forward<Given>(given)...);
  std::vector<std::byte> bytes;
  std::apply([&](const auto&... each) { (append_bytes(bytes, each), ...); }, arguments);
  using Last = std::tuple_element_t<sizeof...(Arguments) - 1, std::tuple<Arguments...>>;
  return launch(stream, typeid(Last).name(), bytes, [=] {
    Grid grid{typeid(void(Arguments...)).name(), blocks, threads, {}};
    std::apply(
        [&](const auto&... each) { (grid.arguments.push_back(std::as_bytes(std::span(&each, 1))), ...); },
        arguments);
    run_grid(grid, [&] { std::apply(kernel, arguments); });
  });
}

}  // namespace lockstep::fake_cuda
