#include "fake_cuda/grid.h"

#include <pthread.h>

#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "device/cuda/native/block_size.h"

namespace lockstep::fake_cuda {
namespace {

using cuda::warp_threads;

/// A pthread barrier, because the thread sanitizer knows which accesses pthread_barrier_wait orders.
class Barrier {
 public:
  explicit Barrier(unsigned threads) { pthread_barrier_init(&raw_, nullptr, threads); }
  ~Barrier() { pthread_barrier_destroy(&raw_); }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  void wait() { pthread_barrier_wait(&raw_); }

 private:
  pthread_barrier_t raw_;
};

/// Number of barriers that a block uses in turn. With a single barrier, the sanitizer would assume that a
/// thread that wakes up late is ordered after everything that others did before they reached the barrier
/// again.
constexpr unsigned barriers_in_turn = 4;

struct Block {
  explicit Block(unsigned threads) : end(threads) {
    for (unsigned i = 0; i < barriers_in_turn; ++i) all.push_back(std::make_unique<Barrier>(threads));
    for (unsigned first = 0; first < threads; first += warp_threads) {
      warps.push_back(std::make_unique<Barrier>(warp_threads));
    }
  }

  std::vector<std::unique_ptr<Barrier>> all, warps;
  Barrier end;
};

std::mutex one_grid;
Threads mode = Threads::ascending;
/// May be set before main().
Runner& runner() {
  static Runner the_runner;
  return the_runner;
}
thread_local Block* block = nullptr;
thread_local unsigned barriers_passed = 0;
int missing_barrier = -1;

void run_threads(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  Block shared(threads);
  std::vector<std::jthread> running;
  for (unsigned t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      block = &shared;
      thread_index = t;
      for (unsigned b = 0; b < blocks; ++b) {
        block_index.x = b;
        barriers_passed = 0;
        kernel();
        shared.end.wait();  // blocks use the same shared memory
      }
    });
  }
}

}  // namespace

thread_local Index block_index;
thread_local unsigned thread_index = 0;

void set_threads(Threads threads) {
  const std::lock_guard lock(one_grid);
  mode = threads;
}
Threads threads_of_blocks() { return mode; }

Way way_through(unsigned count) {
  if (mode == Threads::descending) return {count - 1, count - 1};
  if (mode != Threads::shuffled || count == 0) return {0, 1};
  unsigned stride = count / 2 + count / 8 + 1;
  while (std::gcd(stride, count) != 1) ++stride;
  return {count / 3, stride % count};
}

void run_grid(const Grid& grid, const std::function<void()>& kernel) {
  const std::lock_guard lock(one_grid);
  const auto on_host = [&] {
    if (mode == Threads::at_once) return run_threads(grid.blocks, grid.threads, kernel);
    visit(grid.blocks, [&](unsigned b) {
      block_index.x = b;
      kernel();
    });
  };
  runner() ? runner()(grid, on_host) : on_host();
}

void set_runner(Runner replacement) {
  const std::lock_guard lock(one_grid);
  runner() = std::move(replacement);
}

void wait_for_block() {
  if (mode != Threads::at_once) return;
  const unsigned number = barriers_passed++;
  if (static_cast<int>(number) != missing_barrier) block->all[number % barriers_in_turn]->wait();
}

void wait_for_warp() { block->warps[thread_index / warp_threads]->wait(); }

void leave_out_barrier(int number) { missing_barrier = number; }

}  // namespace lockstep::fake_cuda
