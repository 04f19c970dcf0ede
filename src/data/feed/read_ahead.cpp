#include "data/feed/read_ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "data/feed/target.h"
#include "device/cpu/pinning.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Number of samples that a thread reads at once: small enough that all threads get some of a micro-batch,
/// large enough that they rarely contend for the lock.
std::uint64_t samples_of_part(std::uint64_t micro_batch, std::uint64_t threads) {
  return std::clamp<std::uint64_t>(micro_batch / (4 * threads), 1, 16);
}

}  // namespace

void ReadAhead::Failures::add(const Failures& other) {
  if (other.count > 0 && (count == 0 || other.first < first)) {
    first = other.first;
    error = other.error;
  }
  count += other.count;
}

ReadAhead::ReadAhead(Device& device, const Loader& loader, int threads)
    : loader_(loader),
      layout_(loader.micro_batch(), loader.transform().format().sample_bytes(), loader.transform().mixes(),
              target_count(loader.dataset())),
      part_samples_(samples_of_part(loader.micro_batch(), static_cast<std::uint64_t>(threads))),
      // One micro-batch is used while the next is read; small micro-batches need more slots to occupy all
      // threads.
      slots_(2 + static_cast<std::size_t>(threads) / loader.micro_batch()) {
  for (Slot& slot : slots_) slot.memory = device.allocate_host(layout_.bytes(loader.micro_batch()));
  threads_.reserve(static_cast<std::size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i) {
      SampleReader& reader = readers_.emplace_back(loader.dataset(), loader.transform());
      threads_.emplace_back([this, &reader] { serve(reader); });
    }
  } catch (const std::system_error& error) {
    stop();
    throw Error(Category::resource,
                fmt::format("cannot start {} threads that read samples: {}", threads, error.what()));
  } catch (...) {
    stop();
    throw;
  }
}

ReadAhead::~ReadAhead() { stop(); }

void ReadAhead::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadAhead::expect(std::span<const SampleRange> coming) {
  {
    std::unique_lock lock(mutex_);
    coming_.clear();
    next_range_ = 0;
    if (begun_ > 0) given_ = slots_[(begun_ - 1) % slots_.size()].range.samples;
    idle_.wait(lock, [&] { return reading_ == 0; });
    begun_ = returned_ = given_ = 0;
    holds_ = false;
    rule_ = loader_.rule();
    std::ranges::copy_if(coming, std::back_inserter(coming_),
                         [](const SampleRange& range) { return range.samples > 0; });
  }
  work_.notify_all();
}

ReadAhead::Taken ReadAhead::take(std::uint64_t first) {
  std::unique_lock lock(mutex_);
  if (std::exchange(holds_, false)) {
    ++returned_;
    work_.notify_all();
  }
  const Slot& slot = slots_[returned_ % slots_.size()];
  ready_.wait(lock, [&] { return begun_ > returned_ ? slot.unread == 0 : all_begun(); });
  if (begun_ == returned_ || slot.range.first != first) {
    throw Error(
        Category::internal,
        fmt::format("the samples from position {} on are requested, but others were expected", first));
  }
  holds_ = true;
  if (slot.failures.count > 0) fail(slot);
  return {arrays(slot), slot.memory.data(), slot.contents};
}

void ReadAhead::fail(const Slot& slot) {
  try {
    std::rethrow_exception(slot.failures.error);
  } catch (const Error& error) {
    if (error.category() != Category::data || slot.failures.count == 1) throw;
    throw Error(Category::data, fmt::format("{}; of the {} samples of its micro-batch, {} cannot be read",
                                            error.what(), slot.range.samples, slot.failures.count));
  }
}

void ReadAhead::serve(SampleReader& reader) {
  flush_denormals_to_zero();  // as on the executors of CPU ranks
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const std::optional<Part> part = next_part();
    if (!part) {
      work_.wait(lock);
      continue;
    }
    ++reading_;
    lock.unlock();
    const VisitSum before = reader.contents();
    const Failures failures = read(reader, *part);
    lock.lock();
    --reading_;
    finish(*part, failures, reader.contents().since(before));
  }
}

/// Micro-batches are read in order: all threads share one micro-batch until all its samples are assigned.
std::optional<ReadAhead::Part> ReadAhead::next_part() {
  const auto newest = [&]() -> Slot& { return slots_[(begun_ - 1) % slots_.size()]; };
  if ((begun_ == 0 || given_ == newest().range.samples) && !begin_micro_batch()) return {};
  const std::uint64_t begin = given_;
  given_ = std::min(begin + part_samples_, newest().range.samples);
  return Part{&newest(), begin, given_};
}

bool ReadAhead::begin_micro_batch() {
  if (all_begun() || begun_ - returned_ == slots_.size()) return false;
  SampleRange& rest = coming_[next_range_];
  const std::uint64_t samples = std::min<std::uint64_t>(rest.samples, loader_.micro_batch());
  Slot& slot = slots_[begun_ % slots_.size()];
  slot.range = {rest.first, samples};
  slot.unread = samples;
  slot.failures = {};
  slot.contents = {};
  rest = {rest.first + samples, rest.samples - samples};
  if (rest.samples == 0) ++next_range_;
  ++begun_;
  given_ = 0;
  return true;
}

MicroBatch ReadAhead::arrays(const Slot& slot) const {
  return layout_.arrays(slot.memory.data(), static_cast<std::uint32_t>(slot.range.samples));
}

ReadAhead::Failures ReadAhead::read(SampleReader& reader, const Part& part) const {
  const SampleRange& range = part.slot->range;
  const MicroBatch batch = arrays(*part.slot);
  const float share = rule_.share(static_cast<std::uint32_t>(range.first / loader_.micro_batch()));
  Failures failures;
  for (std::uint64_t i = part.begin; i < part.end; ++i) {
    try {
      const std::uint64_t id = rule_.id(range.first + i);
      rule_.write(batch, static_cast<std::uint32_t>(i), id, target_of(loader_.dataset(), id), share);
      read_sample(reader, id, layout_.sample(part.slot->memory.data(), i));
    } catch (...) {
      failures.add({.count = 1, .first = i, .error = std::current_exception()});
    }
  }
  return failures;
}

void ReadAhead::read_sample(SampleReader& reader, std::uint64_t id, std::byte* place) const {
  try {
    const std::byte* const sample = reader.read(rule_, id, place);
    if (sample != place) std::copy_n(sample, layout_.sample_bytes(), place);
  } catch (const Error& error) {
    BadSamples& bad = loader_.bad_samples();
    if (error.category() != Category::data || !bad.keeps_places()) throw;
    bad.add(id, error.what());
    std::fill_n(place, layout_.sample_bytes(), std::byte{0});
  }
}

void ReadAhead::finish(const Part& part, const Failures& failures, const VisitSum& contents) {
  Slot& slot = *part.slot;
  slot.failures.add(failures);
  slot.contents.add(contents);
  slot.unread -= part.end - part.begin;
  if (slot.unread == 0) ready_.notify_one();
  if (reading_ == 0) idle_.notify_one();
}

}  // namespace lockstep
