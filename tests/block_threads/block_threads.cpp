#include "block_threads/block_threads.h"

#include <pthread.h>

#include <memory>
#include <thread>
#include <vector>

#include "device/cuda/native/check.h"

namespace lockstep::block_threads {
namespace {

constexpr unsigned warp_threads = 32;

/// The sanitizer knows what pthread_barrier_wait orders.
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

/// Barriers of a block in turn. With a single one, a thread that wakes up late would seem to know what others
/// did before they came to it again.
constexpr unsigned barriers_in_turn = 4;

struct Block {
  explicit Block(unsigned threads) : shuffled(threads) {
    for (unsigned i = 0; i < barriers_in_turn; ++i) all.push_back(std::make_unique<Barrier>(threads));
    for (unsigned first = 0; first < threads; first += warp_threads) {
      warps.push_back(std::make_unique<Barrier>(warp_threads));
    }
  }

  std::vector<std::unique_ptr<Barrier>> all, warps;
  std::vector<std::uint32_t> shuffled;
};

thread_local Block* block = nullptr;
thread_local unsigned barriers_passed = 0;
int missing_barrier = -1;
unsigned counted_barriers = 0;

}  // namespace

thread_local Index thread_index, block_index, block_size;

void run_blocks(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  Block shared(threads);
  Barrier end(threads);
  std::vector<std::jthread> running;
  for (unsigned t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      block = &shared;
      thread_index.x = t;
      block_size.x = threads;
      for (unsigned b = 0; b < blocks; ++b) {
        block_index.x = b;
        barriers_passed = 0;
        kernel();
        end.wait();  // blocks share no memory
      }
      if (t == 0) counted_barriers = barriers_passed;
    });
  }
}

void wait_for_block() {
  const unsigned number = barriers_passed++;
  if (static_cast<int>(number) != missing_barrier) block->all[number % barriers_in_turn]->wait();
}

std::uint32_t word_from_above(std::uint32_t word, unsigned apart) {
  const unsigned t = thread_index.x;
  Barrier& warp = *block->warps[t / warp_threads];
  block->shuffled[t] = word;
  warp.wait();
  const bool is_inside = t % warp_threads + apart < warp_threads;
  const std::uint32_t other = block->shuffled[is_inside ? t + apart : t];
  warp.wait();
  return other;
}

void leave_out_barrier(int number) { missing_barrier = number; }

unsigned barriers_of_block() { return counted_barriers; }

}  // namespace lockstep::block_threads

namespace lockstep::cuda {

void check_cuda(cudaError_t /*code*/, const char* /*call*/) {}

}  // namespace lockstep::cuda
