#include "comm/transports/staged_communicator.h"

#include <algorithm>
#include <exception>
#include <numeric>

#include "comm/transports/scratch_memory.h"
#include "comm/transports/sums_in_rounds.h"

namespace lockstep {
namespace {

/// A device, with host and device memory that all plans use, one after the other.
struct Staging {
  Device& device;
  ScratchMemory host_memory, device_memory;
  std::exception_ptr failure = nullptr;  ///< error of the last allocation that failed; null: none

  explicit Staging(Device& of)
      : device(of),
        host_memory([&of](std::size_t bytes) { return of.allocate_host(bytes); }),
        device_memory([&of](std::size_t bytes) { return of.allocate(bytes); }) {}

  /// Allocates memory for a plan; null if there is not enough. Making a plan is collective, so a rank must
  /// not throw there: check() throws the error when the plan is recorded.
  std::byte* allocate(ScratchMemory& memory, std::size_t bytes) {
    try {
      return memory.at_least(bytes);
    } catch (...) {
      failure = std::current_exception();
      return nullptr;
    }
  }
  /// Throws the error of an allocation that failed earlier.
  void check() const {
    if (failure != nullptr) std::rethrow_exception(failure);
  }

  void copy(Stream& stream, void* to, const void* from, std::size_t bytes) const {
    if (bytes > 0) device.copy(stream, to, from, bytes);
  }
};

class StagedSums final : public RoutedSums {
 public:
  StagedSums(Communicator& host, Staging& staging, const SumLayout& layout, std::size_t rank)
      : RoutedSums(rank, layout, routes_to_all(rank, layout.counts.size()),
                   whole_lines(layout.slices.back())),
        staging_(staging),
        first_(layout.slices[rank]),
        last_(layout.slices[rank + 1]),
        own_begin_(std::accumulate(layout.counts.begin(),
                                   layout.counts.begin() + static_cast<std::ptrdiff_t>(rank),
                                   std::size_t{0})),
        arrival_bytes_(arrivals() * arrival_stride() * sizeof(float)) {
    const std::size_t own = layout.own.size(), stride = whole_lines(layout.slices.back());
    auto* const memory = reinterpret_cast<float*>(
        staging.allocate(staging.host_memory, own * stride * sizeof(float) + arrival_bytes_));
    arrived_ = reinterpret_cast<float*>(staging.allocate(staging.device_memory, arrival_bytes_));
    staged_ = layout.own;  // not read without memory
    if (staging.failure == nullptr) {
      for (std::size_t i = 0; i < own; ++i) staged_[i] = memory + i * stride;
      arriving_ = memory + own * stride;
      if (rounds() > 0) place_inputs(0, arrived_);
    }
    host_ = host.plan_sum({.own = staged_, .counts = layout.counts, .slices = layout.slices});
  }

 private:
  void record_round(Stream& stream, std::size_t /*round*/) override {
    staging_.check();
    for (std::size_t i = 0; i < staged_.size(); ++i) {  // copies everything but this rank's slice
      staging_.copy(stream, staged_[i], layout_.own[i], first_ * sizeof(float));
      staging_.copy(stream, staged_[i] + last_, layout_.own[i] + last_,
                    (layout_.slices.back() - last_) * sizeof(float));
    }
    while (const auto chunk = host_->next(stream)) {
      stream.call([this, chunk = *chunk] { keep(chunk); }, Phase::reduce);
    }
    staging_.copy(stream, arrived_, arriving_, arrival_bytes_);
  }

  void keep(const SumChunk& chunk) const {
    float* to = arriving_ + (chunk.begin - first_);
    for (std::size_t i = 0; i < chunk.inputs.size(); ++i) {
      if (i >= own_begin_ && i < own_begin_ + staged_.size()) continue;
      std::copy_n(chunk.inputs[i], chunk.size(), to);
      to += arrival_stride();
    }
  }

  Staging& staging_;
  std::size_t first_, last_;    ///< bounds of this rank's slice
  std::size_t own_begin_;       ///< index of this rank's first partial sum, counted over all ranks
  std::size_t arrival_bytes_;   ///< size of the peers' partial sums of this rank's slice
  std::vector<float*> staged_;  ///< this rank's partial sums on the host
  float *arriving_ = nullptr, *arrived_ = nullptr;  ///< the peers' partial sums on the host, on the device
  std::unique_ptr<SumExchange> host_;
};

class StagedCommunicator final : public CommunicatorOfHost {
 public:
  StagedCommunicator(Communicator& host, Device& device) : CommunicatorOfHost(host), staging_(device) {}

  std::string name() const override { return host_.name() + " through host memory"; }

  // Peers may want shared arenas, so this rank joins the collective call, but asks for none.
  std::vector<Buffer> shared_arenas(std::size_t /*count*/, std::size_t elements) override {
    host_.shared_arenas(0, elements);
    return {};
  }
  Buffer common_arena(std::size_t elements) override {
    host_.common_arena(elements);
    return {};
  }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return std::make_unique<StagedSums>(host_, staging_, layout, static_cast<std::size_t>(rank()));
  }
  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    const std::span staged(staging_.allocate(staging_.host_memory, all.size()), all.size());
    const auto rank = static_cast<std::size_t>(host_.rank());
    return [this, all, staged, begin = bounds[rank], end = bounds[rank + 1],
            gather = host_.plan_gather(staged, bounds)](Stream& stream) {
      staging_.check();
      staging_.copy(stream, staged.data() + begin, all.data() + begin, end - begin);
      gather(stream);
      staging_.copy(stream, all.data(), staged.data(), begin);
      staging_.copy(stream, all.data() + end, staged.data() + end, all.size() - end);
    };
  }
  AllReduce plan_all_reduce(std::span<float> values) override {
    const std::size_t bytes = values.size_bytes();
    const std::span staged(reinterpret_cast<float*>(staging_.allocate(staging_.host_memory, bytes)),
                           values.size());
    return {.start = [this, values, staged, bytes, reduce = host_.plan_all_reduce(staged)](Stream& stream) {
      staging_.check();
      staging_.copy(stream, staged.data(), values.data(), bytes);
      reduce.start(stream);
      reduce.finish(stream);
      staging_.copy(stream, values.data(), staged.data(), bytes);
    }};
  }

 private:
  Staging staging_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, Device& device) {
  return std::make_unique<StagedCommunicator>(host, device);
}

}  // namespace lockstep
