#pragma once

#include <cstdint>
#include <functional>

/// Blocks of GPU threads as threads of the host, with real barriers, so that the thread sanitizer sees what
/// kernels of src/device/cuda/native/launch.h share. Blocks run one after another.
namespace lockstep::block_threads {

struct Index {
  unsigned x = 0;
};
extern thread_local Index thread_index, block_index, block_size;

/// Calls `kernel` in each thread of each block. Waits until all are done.
void run_blocks(unsigned blocks, unsigned threads, const std::function<void()>& kernel);

// Called by threads of a block, all of them or all of a warp.
void wait_for_block();
std::uint32_t word_from_above(std::uint32_t word, unsigned apart);

/// Plants an error: the barrier with this number in each block lets all threads pass. -1: none.
void leave_out_barrier(int number);
/// Barriers that a thread of the last launch passed in a block.
unsigned barriers_of_block();

}  // namespace lockstep::block_threads
