#include "comm/transports/staged_communicator.h"

#include <algorithm>
#include <numeric>

#include "comm/transports/scratch_memory.h"

namespace lockstep {
namespace {

/// A device, and memory that its plans use one after the other.
struct Staging {
  Device& device;
  ScratchMemory host_memory, device_memory;

  explicit Staging(Device& of)
      : device(of),
        host_memory([&of](std::size_t bytes) { return of.allocate_host(bytes); }),
        device_memory([&of](std::size_t bytes) { return of.allocate(bytes); }) {}

  void copy(Stream& stream, void* to, const void* from, std::size_t bytes) const {
    if (bytes > 0) device.copy(stream, to, from, bytes);
  }
};

std::size_t whole_lines(std::size_t elements) {
  constexpr std::size_t line = 64;
  return (elements + line - 1) / line * line;
}

class StagedSums final : public SumExchange {
 public:
  StagedSums(Communicator& host, Staging& staging, SumLayout layout)
      : staging_(staging), layout_(std::move(layout)) {
    const auto rank = static_cast<std::size_t>(host.rank());
    begin_ = layout_.slices[rank];
    end_ = layout_.slices[rank + 1];
    own_begin_ = std::accumulate(layout_.counts.begin(),
                                 layout_.counts.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
    SumLayout staged{{}, layout_.counts, layout_.slices};
    const std::size_t own = layout_.own.size(), stride = whole_lines(layout_.slices.back());
    arrivals_ = begin_ == end_ ? 0 : layout_.inputs() - own;
    arrival_stride_ = whole_lines(end_ - begin_);
    auto* const memory = reinterpret_cast<float*>(
        staging.host_memory.at_least(own * stride * sizeof(float) + arrival_bytes()));
    for (std::size_t i = 0; i < own; ++i) staged.own.push_back(memory + i * stride);
    staged_ = staged.own;
    arriving_ = memory + own * stride;
    arrived_ = reinterpret_cast<float*>(staging.device_memory.at_least(arrival_bytes()));
    name_inputs();
    host_ = host.plan_sum(std::move(staged));
  }

  std::optional<SumChunk> next(Stream& stream) override {
    if (std::exchange(given_, !given_)) return std::nullopt;
    for (std::size_t i = 0; i < staged_.size(); ++i) {  // all but the own slice
      staging_.copy(stream, staged_[i], layout_.own[i], begin_ * sizeof(float));
      staging_.copy(stream, staged_[i] + end_, layout_.own[i] + end_,
                    (layout_.slices.back() - end_) * sizeof(float));
    }
    while (const auto chunk = host_->next(stream)) {
      stream.call([this, chunk = *chunk] { keep(chunk); }, Phase::reduce);
    }
    staging_.copy(stream, arrived_, arriving_, arrival_bytes());
    if (begin_ < end_) return SumChunk{begin_, end_, inputs_};
    given_ = false;
    return std::nullopt;
  }

 private:
  std::size_t arrival_bytes() const { return arrivals_ * arrival_stride_ * sizeof(float); }
  bool is_own(std::size_t input) const {
    return input >= own_begin_ && input < own_begin_ + layout_.own.size();
  }

  /// In the order of ranks: this rank's where they are, the others' where they arrive.
  void name_inputs() {
    const float* arrived = arrived_;
    for (std::size_t i = 0; i < arrivals_ + layout_.own.size(); ++i) {
      if (is_own(i)) {
        inputs_.push_back(layout_.own[i - own_begin_] + begin_);
      } else {
        inputs_.push_back(arrived);
        arrived += arrival_stride_;
      }
    }
  }

  void keep(const SumChunk& chunk) const {
    float* to = arriving_ + (chunk.begin - begin_);
    for (std::size_t i = 0; i < chunk.inputs.size(); ++i) {
      if (is_own(i)) continue;
      std::copy_n(chunk.inputs[i], chunk.size(), to);
      to += arrival_stride_;
    }
  }

  Staging& staging_;
  SumLayout layout_;
  std::size_t begin_ = 0, end_ = 0;  ///< the own slice
  std::size_t own_begin_ = 0;        ///< number of this rank's first partial sum, over all ranks
  std::size_t arrivals_ = 0;         ///< partial sums of the peers
  std::size_t arrival_stride_ = 0;   ///< elements from one to the next
  std::vector<float*> staged_;       ///< this rank's partial sums on the host
  float *arriving_ = nullptr, *arrived_ = nullptr;  ///< the peers', on the host and on the device
  std::vector<const float*> inputs_;
  std::unique_ptr<SumExchange> host_;
  bool given_ = false;
};

class StagedGather final : public Gather {
 public:
  StagedGather(Communicator& host, Staging& staging, std::span<std::byte> all,
               std::span<const std::size_t> bounds)
      : staging_(staging), all_(all), staged_(staging.host_memory.at_least(all.size()), all.size()) {
    begin_ = bounds[static_cast<std::size_t>(host.rank())];
    end_ = bounds[static_cast<std::size_t>(host.rank()) + 1];
    host_ = host.plan_gather(staged_, bounds);
  }

  void record(Stream& stream) override {
    staging_.copy(stream, staged_.data() + begin_, all_.data() + begin_, end_ - begin_);
    host_->record(stream);
    staging_.copy(stream, all_.data(), staged_.data(), begin_);
    staging_.copy(stream, all_.data() + end_, staged_.data() + end_, all_.size() - end_);
  }

 private:
  Staging& staging_;
  std::span<std::byte> all_, staged_;
  std::size_t begin_, end_;  ///< bytes of this rank
  std::unique_ptr<Gather> host_;
};

class StagedAllReduce final : public AllReduce {
 public:
  StagedAllReduce(Communicator& host, Staging& staging, std::span<float> values)
      : staging_(staging),
        values_(values),
        staged_(reinterpret_cast<float*>(staging.host_memory.at_least(values.size_bytes())), values.size()),
        host_(host.plan_all_reduce(staged_)) {}

  void start(Stream& stream) override {
    staging_.copy(stream, staged_.data(), values_.data(), values_.size_bytes());
    host_->start(stream);
    host_->finish(stream);
    staging_.copy(stream, values_.data(), staged_.data(), values_.size_bytes());
  }
  void finish(Stream& /*stream*/) override {}

 private:
  Staging& staging_;
  std::span<float> values_, staged_;
  std::unique_ptr<AllReduce> host_;
};

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(Communicator& host, Device& device) : host_(host), staging_(device) {}

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  std::string name() const override { return host_.name() + " through host memory"; }

  // The peers may have such: this rank takes part and brings none.
  std::vector<Buffer> shared_arenas(std::size_t /*count*/, std::size_t elements) override {
    host_.shared_arenas(0, elements);
    return {};
  }
  Buffer common_arena(std::size_t elements) override {
    host_.common_arena(elements);
    return {};
  }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return std::make_unique<StagedSums>(host_, staging_, std::move(layout));
  }
  std::unique_ptr<Gather> plan_gather(std::span<std::byte> all,
                                      std::span<const std::size_t> bounds) override {
    return std::make_unique<StagedGather>(host_, staging_, all, bounds);
  }
  std::unique_ptr<AllReduce> plan_all_reduce(std::span<float> values) override {
    return std::make_unique<StagedAllReduce>(host_, staging_, values);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    host_.all_gather_bytes(own, bytes, all);
  }
  void barrier() override { host_.barrier(); }
  void check() override { host_.check(); }

 private:
  Communicator& host_;
  Staging staging_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, Device& device) {
  return std::make_unique<StagedCommunicator>(host, device);
}

}  // namespace lockstep
