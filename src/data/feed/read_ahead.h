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

/// Micro-batches that reader threads prepare in advance, in a few blocks of host memory. The readers divide
/// the samples of a micro-batch; contents do not depend on which reader reads a sample. All methods must be
/// called by the same thread.
class ReadAhead {
 public:
  /// Starts `threads` > 0 readers; allocates blocks with device.allocate_host. `device` and `loader` must
  /// outlive this object. Throws Error(resource).
  ReadAhead(Device& device, const Loader& loader, int threads);
  /// Waits until the samples that are being read have been read.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  const MicroBatchLayout& layout() const { return layout_; }
  std::size_t blocks() const { return slots_.size(); }

  /// Sets the micro-batches that will be taken next: `coming` are ranges of positions in the loader's current
  /// order, each divided into micro-batches from its beginning. Replaces all earlier ranges, even if they
  /// have been read.
  void expect(std::span<const SampleRange> coming);

  /// Micro-batch in a block of host memory.
  struct Taken {
    MicroBatch batch;  ///< without the samples' addresses
    std::byte* block = nullptr;
    VisitSum contents;  ///< see SampleReader::contents
  };
  /// Waits for the next micro-batch, which begins at position `first`. Its block is reused after the next
  /// call of take or expect. Throws Error(data) naming the first sample that cannot be read, the reason and
  /// the number of such samples, unless BadSamples::keep_places is set; other errors of reading are rethrown.
  /// After these errors, the micro-batch counts as taken. Throws Error(internal) without taking a micro-batch
  /// if another one was expected.
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
  std::mutex mutex_;     ///< guards all members below, except the contents of blocks
  std::condition_variable work_, ready_, idle_;
  bool stop_ = false;
  std::vector<SampleRange> coming_;  ///< remainders of the expected ranges
  std::size_t next_range_ = 0;
  std::vector<Slot> slots_;                 ///< micro-batch i uses slot i modulo the number of slots
  std::uint64_t begun_ = 0, returned_ = 0;  ///< micro-batches begun by readers, and returned by the user
  bool holds_ = false;                      ///< whether the user has micro-batch `returned_`
  std::uint64_t given_ = 0;  ///< samples of the latest micro-batch that were assigned to readers
  int reading_ = 0;          ///< number of readers that are reading
  std::deque<SampleReader> readers_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
