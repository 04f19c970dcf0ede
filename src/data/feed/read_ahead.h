#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
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

/// Micro-batches that reader threads prepare in advance, in a few blocks of the host's memory. The readers
/// divide the samples of a micro-batch; contents do not depend on which one reads a sample. Methods are
/// called by one thread.
class ReadAhead {
 public:
  /// Starts `threads` > 0 readers; blocks come from device.allocate_host. Arguments must outlive it. Throws
  /// Error(resource).
  ReadAhead(Device& device, const Loader& loader, int threads);
  /// Waits for the samples that are being read.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  const MicroBatchLayout& layout() const { return layout_; }
  std::size_t blocks() const { return slots_.size(); }

  /// Sets the micro-batches that will be taken next: `coming` are ranges of positions in the loader's present
  /// order, each divided into micro-batches from its beginning. Replaces earlier ranges, even those that were
  /// read.
  void expect(std::span<const SampleRange> coming);

  /// Micro-batch in a block of the host's memory.
  struct Taken {
    MicroBatch batch;  ///< without addresses of samples
    std::byte* block = nullptr;
    VisitSum contents;  ///< see SampleReader::contents
  };
  /// Waits for the next micro-batch, which begins at position `first`. Its block is reused after the next
  /// call of take or expect. Throws Error(data) naming the first sample that cannot be read, the reason and
  /// the number of such samples, unless they keep their places; passes on other errors of reading. The
  /// micro-batch counts as taken then. Throws Error(internal) if another one was expected, and takes none.
  Taken take(std::uint64_t first);

 private:
  /// Samples of a micro-batch that could not be read.
  struct Failures {
    std::uint64_t count = 0;
    std::uint64_t first = 0;   ///< index of the first one in the micro-batch
    std::exception_ptr error;  ///< error of the first one
    void add(const Failures& other);
  };
  struct Slot {
    Buffer memory;
    SampleRange range;
    std::uint64_t unread = 0;
    Failures failures;
    VisitSum contents;
  };
  /// Samples [begin, end) of the micro-batch in a slot, for one reader.
  struct Part {
    Slot* slot = nullptr;
    std::uint64_t begin = 0, end = 0;
  };

  void serve(SampleReader& reader);
  std::optional<Part> next_part();
  bool begin_micro_batch();
  bool all_begun() const { return next_range_ == coming_.size(); }
  MicroBatch arrays(const Slot& slot) const;
  Failures read(SampleReader& reader, const Part& part) const;
  void read_sample(SampleReader& reader, std::uint64_t id, std::byte* place) const;
  void finish(const Part& part, const Failures& failures, const VisitSum& contents);
  void stop();
  [[noreturn]] static void fail(const Slot& slot);

  const Loader& loader_;
  MicroBatchLayout layout_;
  std::uint64_t part_samples_;
  MicroBatchRule rule_;  ///< changes only while nothing is being read
  std::mutex mutex_;     ///< guards all below, except the contents of blocks
  std::condition_variable work_, ready_, idle_;
  bool stop_ = false;
  std::vector<SampleRange> coming_;  ///< remainders of the expected ranges
  std::size_t next_range_ = 0;
  std::vector<Slot> slots_;                 ///< micro-batch i uses slot i modulo their number
  std::uint64_t begun_ = 0, returned_ = 0;  ///< numbers of micro-batches
  bool holds_ = false;                      ///< whether the user has micro-batch `returned_`
  std::uint64_t given_ = 0;  ///< samples of the latest micro-batch that were assigned to readers
  int reading_ = 0;          ///< number of readers that are reading
  std::deque<SampleReader> readers_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
