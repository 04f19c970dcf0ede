#include "data/feed/read_ahead.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "data/feed/micro_batch_reader.h"
#include "device/cpu/cpu_device.h"
#include "support/expect_error.h"
#include "support/synthetic.h"

namespace lockstep {
namespace {

constexpr Shape image_shape{1, 6, 5};

/// Data set with some unreadable samples, whose reads can be blocked.
class Samples : public test::Synthetic {
 public:
  explicit Samples(std::uint64_t size) : Synthetic(size, image_shape, 7) {
    change = [this](std::uint64_t id, std::vector<std::uint8_t>& /*pixels*/) {
      {
        std::unique_lock lock(mutex_);
        ++reads_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return !held_; });
      }
      if (bad.contains(id)) throw Error(Category::data, sample_name(id) + " is torn");
      if (lost.contains(id)) throw Error(Category::resource, sample_name(id) + " is far away");
    };
  }
  int label(std::uint64_t id) const override {
    if (unlabelled.contains(id)) throw Error(Category::data, sample_name(id) + " has no label");
    return Synthetic::label(id);
  }

  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void wait_for_reads(int reads) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reads_ >= reads; });
  }
  int reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

  std::set<std::uint64_t> bad, lost, unlabelled;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int reads_ = 0;
  bool held_ = false;
};

/// Bytes of a micro-batch's samples and arrays. `sample(i)`: address of sample i.
template <class Sample>
std::vector<std::byte> contents(const MicroBatch& batch, Sample&& sample) {
  std::vector<std::byte> found;
  const auto add = [&](const auto* values, std::size_t count) {
    const auto bytes = std::as_bytes(std::span(values, count));
    found.insert(found.end(), bytes.begin(), bytes.end());
  };
  for (std::uint32_t i = 0; i < batch.size; ++i) add(sample(i), image_shape.size());
  add(batch.labels, batch.size);
  add(batch.ids, batch.size);
  add(&batch.random->seed, 1);
  add(&batch.random->epoch, 1);
  if (batch.mixes()) {
    add(batch.partner_labels, batch.size);
    add(batch.shares, batch.size);
  }
  return found;
}

/// Contents of the micro-batch `range` as the reader of CPU ranks loads it.
std::vector<std::byte> expected(const Loader& loader, SampleRange range) {
  BadSamples bad(true);
  MicroBatchReader reader(loader.dataset(), loader.transform(), bad, loader.micro_batch());
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < range.samples; ++i) ids.push_back(loader.rule().id(range.first + i));
  const MicroBatch& batch =
      reader.read(loader.rule(), static_cast<std::uint32_t>(range.first / loader.micro_batch()), ids);
  return contents(batch, [&](std::uint32_t i) { return batch.samples[i]; });
}

struct Reading {
  explicit Reading(std::uint64_t size, std::uint32_t micro_batch = 8, int threads = 2,
                   const AugmentOptions& augment = {})
      : data(size), loader(data, micro_batch, {}, augment, 3), ahead(*device, loader, threads) {}

  void expect(const std::vector<SampleRange>& coming) { ahead.expect(coming); }
  void expect_next(SampleRange range) {
    const ReadAhead::Taken taken = ahead.take(range.first);
    ASSERT_EQ(taken.batch.size, range.samples);
    EXPECT_EQ(taken.batch.mixes(), loader.transform().mixes());
    EXPECT_TRUE(
        contents(taken.batch, [&](std::uint32_t i) { return ahead.layout().sample(taken.block, i); }) ==
        expected(loader, range))
        << "from position " << range.first;
  }
  void expect_next_fails(std::uint64_t first, Category category, std::vector<std::string> words) {
    expect_error(category, words, [&] { ahead.take(first); });
  }

  std::unique_ptr<Device> device = make_cpu_device({.threads = 1, .pin = false});
  Samples data;
  Loader loader;
  ReadAhead ahead;
};

TEST(ReadAhead, GivesWhatTheReaderOfCpuRanksGives) {
  for (const int threads : {1, 2, 3, 7}) {
    Reading reading(45, 8, threads, {.crop_padding = 1, .hflip = 0.5, .mixup = 0.3});
    for (const std::uint32_t epoch : {0U, 1U}) {
      reading.loader.start_epoch(epoch);
      reading.expect({{0, 16}, {16, 16}, {32, 13}});
      for (const SampleRange range : {SampleRange{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 5}}) {
        reading.expect_next(range);
      }
    }
  }
}

TEST(ReadAhead, OmitsWhatOtherExecutorsRead) {
  Reading reading(64);
  reading.expect({{8, 16}, {32, 0}, {40, 8}});
  for (const std::uint64_t first : {8U, 16U, 40U}) reading.expect_next({first, 8});
}

TEST(ReadAhead, ReadsWhileNothingIsTakenButNoMoreThanItHasBlocks) {
  Reading reading(80);
  ASSERT_EQ(reading.ahead.blocks(), 2U);
  reading.expect({{0, 80}});
  reading.data.wait_for_reads(16);
  reading.ahead.take(0);
  EXPECT_EQ(reading.data.reads(), 16) << "its block is in use";
  reading.ahead.take(8);
  reading.data.wait_for_reads(24);
}

TEST(ReadAhead, HasBlocksForAllThreads) {
  Reading reading(80, 2, 7);
  EXPECT_EQ(reading.ahead.blocks(), 5U);
  reading.data.hold(true);
  reading.expect({{0, 80}});
  reading.data.wait_for_reads(7);  // all reads are concurrent
  reading.data.hold(false);
  for (std::uint64_t first = 0; first < 80; first += 2) reading.expect_next({first, 2});
}

TEST(ReadAhead, AnErrorComesWithItsMicroBatchNamingTheFirstSample) {
  for (const int threads : {1, 3}) {
    Reading reading(88, 8, threads);
    reading.data.bad = {5, 3, 21, 39, 47, 87};
    reading.data.lost = {7, 12};
    reading.data.unlabelled = {42, 45};
    reading.expect({{0, 88}});
    reading.expect_next_fails(0, Category::data,
                              {"sample 3 is torn", "of the 8 samples of its micro-batch, 3 cannot be read"});
    reading.expect_next_fails(8, Category::resource, {"sample 12 is far away"});
    reading.expect_next_fails(16, Category::data, {"sample 21 is torn"});
    reading.expect_next({24, 8});
    reading.expect_next_fails(32, Category::data, {"sample 39 is torn"});
    reading.expect_next_fails(
        40, Category::data,
        {"sample 42 has no label", "of the 8 samples of its micro-batch, 3 cannot be read"});
    reading.expect_next({48, 8});
  }
}

TEST(ReadAhead, RefusesWhatWasNotExpected) {
  Reading reading(24);
  reading.expect_next_fails(0, Category::internal, {"from position 0 on are requested"});
  reading.expect({{8, 8}});
  reading.expect_next_fails(0, Category::internal, {"from position 0 on are requested"});
  reading.expect_next({8, 8});  // not consumed
  reading.expect_next_fails(16, Category::internal, {"from position 16 on are requested"});
}

TEST(ReadAhead, ForgetsWhatWasExpectedBefore) {
  Reading reading(40);
  reading.data.hold(true);
  reading.expect({{0, 40}});
  reading.data.wait_for_reads(2);
  reading.data.hold(false);
  reading.loader.start_epoch(1);
  reading.expect({{8, 32}});
  reading.expect_next({8, 8});
  reading.expect({{16, 8}});
  reading.expect_next({16, 8});
}

TEST(ReadAhead, EndsInTheMiddleOfReading) {
  Reading reading(800);
  reading.expect({{0, 800}});
  reading.data.wait_for_reads(1);
}

}  // namespace
}  // namespace lockstep
