#include "comm/nccl/nccl_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "comm/nccl/nccl_connection.h"
#include "comm/transports/exchange_rounds.h"
#include "comm/transports/scratch_memory.h"
#include "comm/world/agreement.h"
#include "device/cuda/cuda_device.h"

namespace lockstep {
namespace {

/// What plans share: the connection, and sums that are under way on the device's stream for communication.
struct NcclOperations {
  NcclOperations(const NcclApi& library, Communicator& host, const std::string& name, Device& of)
      : api(library),
        device(of),
        rank(static_cast<std::size_t>(host.rank())),
        size(static_cast<std::size_t>(host.size())),
        memory([&of](std::size_t bytes) { return of.allocate(bytes); }),
        connection(library, host, name) {}

  /// Gives the sends and receives of `calls` to the library as one.
  template <class Calls>
  void group(Stream& stream, const Calls& calls) {
    join(stream);
    connection.group(calls);
  }
  void send(const Stream& stream, std::span<const std::byte> bytes, std::size_t peer) {
    if (bytes.empty()) return;
    connection.check(api.send(bytes.data(), bytes.size(), ncclUint8, static_cast<int>(peer), connection.get(),
                              cuda::handle_of(stream)),
                     "ncclSend");
  }
  void receive(const Stream& stream, std::span<std::byte> bytes, std::size_t peer) {
    if (bytes.empty()) return;
    connection.check(api.recv(bytes.data(), bytes.size(), ncclUint8, static_cast<int>(peer), connection.get(),
                              cuda::handle_of(stream)),
                     "ncclRecv");
  }

  /// All that was given to `stream` comes first; join() waits for it.
  void all_reduce_beside(Stream& stream, std::span<float> values) {
    if (values.empty()) return;
    Stream& side = cuda::communication_stream(device);
    side.wait(stream.record());
    all_reduce(side, values);
    working = true;
  }
  /// Operations of one connection come one after the other.
  void join(Stream& stream) {
    if (std::exchange(working, false)) stream.wait(cuda::communication_stream(device).record());
  }
  void all_reduce(const Stream& stream, std::span<float> values) {
    connection.group([&] {
      connection.check(api.all_reduce(values.data(), values.data(), values.size(), ncclFloat, ncclSum,
                                      connection.get(), cuda::handle_of(stream)),
                       "ncclAllReduce");
    });
  }

  const NcclApi api;
  Device& device;
  bool working = false;  ///< the stream for communication, on what no other waits for yet
  const std::size_t rank, size;
  ScratchMemory memory;
  NcclConnection connection;  ///< ends before the memory that it may still use
};

std::span<std::byte> bytes_of(float* data, std::size_t count) {
  return std::as_writable_bytes(std::span(data, count));
}

class NcclSums final : public SumExchange {
 public:
  NcclSums(NcclOperations& operations, SumLayout layout, const ExchangeRounds::Limits& limits)
      : operations_(operations), layout_(std::move(layout)), rounds_(layout_, limits) {
    const std::size_t rank = operations_.rank;
    const std::size_t own_length = layout_.slices[rank + 1] - layout_.slices[rank];
    const std::size_t stride = std::min(rounds_.chunk(), (own_length + 63) & ~std::size_t{63});
    auto* const staging = reinterpret_cast<float*>(
        operations_.memory.at_least((layout_.inputs() - layout_.own.size()) * stride * sizeof(float)));
    for (std::size_t round = 0; round < rounds_.count(); ++round) name_inputs(round, staging, stride);
  }

  std::optional<SumChunk> next(Stream& stream) override {
    while (next_ < rounds_.count()) {
      const std::size_t round = next_++;
      if (!inputs_[round].empty()) bring(stream, round);
      const std::size_t begin = rounds_.begin(operations_.rank, round);
      const std::size_t length = rounds_.length(operations_.rank, round);
      if (length > 0) return SumChunk{begin, begin + length, inputs_[round]};
    }
    next_ = 0;
    return std::nullopt;
  }

 private:
  /// In the order of ranks: this rank's where they are, the others' where they arrive.
  void name_inputs(std::size_t round, float* staging, std::size_t stride) {
    std::vector<const float*>& inputs = inputs_.emplace_back();
    for (std::size_t peer = 0; peer < operations_.size; ++peer) {
      for (std::size_t i = 0; i < layout_.counts[peer]; ++i) {
        if (peer == operations_.rank) {
          inputs.push_back(layout_.own[i] + rounds_.begin(peer, round));
        } else {
          inputs.push_back(staging);
          staging += stride;
        }
      }
    }
  }

  /// What two ranks send each other arrives in order.
  void bring(Stream& stream, std::size_t round) {
    operations_.group(stream, [&] {
      std::size_t next = 0;
      for (std::size_t peer = 0; peer < operations_.size; ++peer) {
        for (std::size_t i = 0; i < layout_.counts[peer]; ++i, ++next) {
          if (peer == operations_.rank) continue;
          float* const into = const_cast<float*>(inputs_[round][next]);
          operations_.receive(stream, bytes_of(into, rounds_.length(operations_.rank, round)), peer);
        }
        if (peer == operations_.rank) continue;
        for (float* own : layout_.own) {
          operations_.send(stream, bytes_of(own + rounds_.begin(peer, round), rounds_.length(peer, round)),
                           peer);
        }
      }
    });
  }

  NcclOperations& operations_;
  SumLayout layout_;
  ExchangeRounds rounds_;
  std::vector<std::vector<const float*>> inputs_;  ///< of every round
  std::size_t next_ = 0;                           ///< round to be recorded
};

class NcclGather final : public Gather {
 public:
  NcclGather(NcclOperations& operations, std::span<std::byte> all, std::span<const std::size_t> bounds)
      : operations_(operations), all_(all), bounds_(bounds.begin(), bounds.end()) {}

  void record(Stream& stream) override {
    operations_.group(stream, [&] {
      for (std::size_t peer = 0; peer < operations_.size; ++peer) {
        if (peer == operations_.rank) continue;
        operations_.send(stream, part(operations_.rank), peer);
        operations_.receive(stream, part(peer), peer);
      }
    });
  }

 private:
  std::span<std::byte> part(std::size_t rank) const {
    return all_.subspan(bounds_[rank], bounds_[rank + 1] - bounds_[rank]);
  }

  NcclOperations& operations_;
  std::span<std::byte> all_;
  std::vector<std::size_t> bounds_;
};

class NcclAllReduce final : public AllReduce {
 public:
  NcclAllReduce(NcclOperations& operations, std::span<float> values)
      : operations_(operations), values_(values) {}
  void start(Stream& stream) override { operations_.all_reduce_beside(stream, values_); }
  void finish(Stream& stream) override { operations_.join(stream); }

 private:
  NcclOperations& operations_;
  std::span<float> values_;
};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Communicator& host, const std::string& name, Device& device, const NcclOptions& options)
      : host_(host),
        device_(device),
        limits_{options.staging, 1 << 12, std::numeric_limits<std::size_t>::max()},
        operations_(options.api, host, name, device) {
    device_.while_waiting([this] { operations_.connection.check(); });
    try {
      meet(options.largest_sum);
    } catch (...) {
      device_.while_waiting({});
      throw;
    }
  }
  ~NcclCommunicator() override { device_.while_waiting({}); }

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  std::string name() const override { return "NCCL"; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return std::make_unique<NcclSums>(operations_, std::move(layout), limits_);
  }
  std::unique_ptr<Gather> plan_gather(std::span<std::byte> all,
                                      std::span<const std::size_t> bounds) override {
    return std::make_unique<NcclGather>(operations_, all, bounds);
  }
  std::unique_ptr<AllReduce> plan_all_reduce(std::span<float> values) override {
    return std::make_unique<NcclAllReduce>(operations_, values);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    host_.all_gather_bytes(own, bytes, all);
  }
  void barrier() override { host_.barrier(); }
  void check() override { operations_.connection.check(); }

 private:
  /// Connections are made by the first operations, for each way that the library has of doing them, which
  /// depends on their size. Better outside of a recording: a rank that fails there would leave the others
  /// waiting.
  void meet(std::size_t largest_sum) {
    Stream& stream = *device_.streams()[0];
    const std::size_t size = operations_.size;
    const Buffer numbers = device_.allocate(std::max(size, largest_sum) * sizeof(float));
    std::vector<std::size_t> bounds(size + 1);
    for (std::size_t i = 0; i <= size; ++i) bounds[i] = i * sizeof(float);
    NcclGather(operations_, {numbers.data(), bounds.back()}, bounds).record(stream);
    for (std::size_t elements = 64; elements < largest_sum; elements *= 16) {
      operations_.all_reduce(stream, numbers.floats().first(elements));
    }
    operations_.all_reduce(stream, numbers.floats());
    float first = 0.0F;
    device_.copy(&first, numbers.data(), sizeof first);
  }

  Communicator& host_;
  Device& device_;
  ExchangeRounds::Limits limits_;
  NcclOperations operations_;
};

}  // namespace

std::unique_ptr<Communicator> connect_by_nccl(Communicator& host, const std::string& gpu, Device& device,
                                              const NcclOptions& options) {
  return std::make_unique<NcclCommunicator>(host, "GPU " + gpu, device, options);
}

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const std::string& gpu,
                                                     Device& device) {
  NcclOptions options{};
  // Graphs and other launches of NCCL are never in flight together, so graphs need no events between them.
  setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", 0);
  agree(host, [&] { options.api = load_nccl(); });
  return connect_by_nccl(host, gpu, device, options);
}

}  // namespace lockstep
