#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "data/feed/loader.h"
#include "data/feed/micro_batch.h"
#include "data/feed/sample_reader.h"
#include "device/device.h"

namespace lockstep {

/// Micro-batches that threads read before they are wanted, into a few blocks of the host's memory. Threads
/// share the samples of a micro-batch; what a sample is does not depend on which one reads it. Its methods
/// are called by one thread.
class ReadAhead {
 public:
  /// `threads` > 0 of them read. Blocks are the device's memory of the host. What is passed in outlives it.
  /// Throws Error(resource).
  ReadAhead(Device& device, const Loader& loader, int threads);
  /// What is being read is read to its end; nothing else is.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  const MicroBatchLayout& layout() const { return layout_; }
  std::size_t blocks() const { return slots_.size(); }

  /// What will be taken from now on, in this order: positions in the loader's order as it is now, each range
  /// cut into micro-batches from its beginning. Forgets what was said before, read or not.
  void expect(std::span<const SampleRange> coming);

  /// Calls use(batch, block) with the next micro-batch, which begins at position `first`, once it has been
  /// read, and its block, from which its samples have no addresses; the block is filled again after `use` has
  /// returned. `use` must not call methods of this object.
  /// Throws Error(data) naming the first sample of it that cannot be read, why, and how many cannot; other
  /// errors of reading, and those of `use`, pass as they are. After such an error the next micro-batch can be
  /// taken. Error(internal) when another one was expected: then none was taken.
  using Use = std::function<void(const MicroBatch& batch, std::byte* block)>;
  void take(std::uint64_t first, const Use& use);

 private:
  /// What could not be read of a micro-batch.
  struct Failures {
    std::uint64_t count = 0;
    std::uint64_t first = 0;   ///< number of the first one in the micro-batch
    std::exception_ptr error;  ///< its
    void add(const Failures& other);
  };
  struct Slot {
    Buffer memory;
    SampleRange range;
    std::uint64_t unread = 0;
    Failures failures;
  };
  /// Samples [begin, end) of the micro-batch in a slot.
  struct Chunk {
    Slot* slot = nullptr;
    std::uint64_t begin = 0, end = 0;
  };

  void serve(SampleReader& reader);
  std::optional<Chunk> next_chunk();
  bool begin_micro_batch();
  bool all_begun() const { return next_range_ == coming_.size(); }
  MicroBatch arrays(const Slot& slot) const;
  Failures read(SampleReader& reader, const Chunk& chunk) const;
  void finish(const Chunk& chunk, const Failures& failures);
  void stop();
  [[noreturn]] static void fail(const Slot& slot);

  const Loader& loader_;
  MicroBatchLayout layout_;
  std::uint64_t chunk_samples_;
  MicroBatchRule rule_;  ///< changes while nothing is being read
  std::mutex mutex_;     ///< of all below but the contents of blocks
  std::condition_variable work_, ready_, idle_;
  bool stop_ = false;
  std::vector<SampleRange> coming_;  ///< what is left of each
  std::size_t next_range_ = 0;
  std::vector<Slot> slots_;  ///< micro-batch i has slot i modulo their number
  std::uint64_t begun_ = 0, taken_ = 0;
  std::uint64_t given_ = 0;  ///< samples of the last one begun that threads were given
  int reading_ = 0;          ///< threads that are
  std::deque<SampleReader> readers_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
