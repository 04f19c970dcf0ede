#include "comm/nccl/nccl_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "comm/agreement.h"
#include "comm/exchange_rounds.h"
#include "comm/nccl/nccl_connection.h"
#include "comm/scratch_memory.h"
#include "device/cuda/cuda_device.h"

namespace lockstep {
namespace {

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Communicator& host, const std::string& name, Device& device, Stream& stream,
                   const NcclOptions& options)
      : api_(options.api),
        host_(host),
        device_(device),
        stream_(stream),
        rank_(static_cast<std::size_t>(host.rank())),
        size_(static_cast<std::size_t>(host.size())),
        limits_{options.staging, 1 << 12, std::numeric_limits<std::size_t>::max()},
        memory_([&device](std::size_t bytes) { return device.allocate(bytes); }),
        connection_(options.api, host, name) {
    device_.while_waiting([this] { connection_.check(); });
    try {
      meet(options.largest_sum);
    } catch (...) {
      device_.while_waiting({});
      throw;
    }
  }
  ~NcclCommunicator() override { device_.while_waiting({}); }

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(size_); }
  std::string name() const override { return "NCCL"; }

  void exchange(PartialSums& partials, const UseChunk& use) override {
    finish_all_reduces();
    const ExchangeRounds rounds(partials, limits_);
    const std::size_t own_length = partials.slices[rank_ + 1] - partials.slices[rank_];
    const std::size_t stride = std::min(rounds.chunk, (own_length + 63) & ~std::size_t{63});
    auto* const staging = reinterpret_cast<float*>(
        memory_.at_least((rounds.inputs - partials.own.size()) * stride * sizeof(float)));
    for (std::size_t round = 0; round < rounds.count; ++round) {
      name_inputs(partials, rounds.begin(partials, rank_, round), staging, stride);
      if (rounds.inputs > 0) bring_chunks(partials, rounds, round);
      const std::size_t begin = rounds.begin(partials, rank_, round);
      const std::size_t length = rounds.length(partials, rank_, round);
      if (length > 0) use(inputs_, begin, begin + length);
    }
    if (!partials.results.empty()) bring_results(partials);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    finish_all_reduces();
    connection_.group([&] {
      for (std::size_t peer = 0, begin = 0; peer < size_; begin += bytes[peer++]) {
        if (peer == rank_) {
          if (own.data() != all.data() + begin && !own.empty())
            device_.copy(stream_, all.data() + begin, own.data(), own.size());
          continue;
        }
        send(own, peer);
        receive(all.subspan(begin, bytes[peer]), peer);
      }
    });
  }

  void all_reduce(std::span<float> values) override {
    finish_all_reduces();
    all_reduce(stream_, values);
  }

  void start_all_reduce(std::span<float> values) override {
    if (values.empty()) return;
    Stream& side = cuda::communication_stream(device_);
    side.wait(stream_.record());
    all_reduce(side, values);
    started_ = true;
  }
  void finish_all_reduces() override {
    if (std::exchange(started_, false)) stream_.wait(cuda::communication_stream(device_).record());
  }

  void barrier() override {
    finish_all_reduces();
    stream_.host([this] { host_.barrier(); });
  }
  void check() override { connection_.check(); }

 private:
  /// Connections are made by the first operations, for each way that the library has of doing them, which
  /// depends on their size. Better outside of a recording: a rank that fails there would leave the others
  /// waiting.
  void meet(std::size_t largest_sum) {
    const Buffer numbers = device_.allocate(std::max(size_, largest_sum) * sizeof(float));
    const std::vector<std::size_t> bytes(size_, sizeof(float));
    const std::span<std::byte> all(numbers.data(), size_ * sizeof(float));
    all_gather_bytes(all.subspan(rank_ * sizeof(float), sizeof(float)), bytes, all);
    for (std::size_t elements = 64; elements < largest_sum; elements *= 16) {
      all_reduce(numbers.floats().first(elements));
    }
    all_reduce(numbers.floats());
    float first = 0.0F;
    device_.copy(&first, numbers.data(), sizeof first);
  }

  void all_reduce(const Stream& stream, std::span<float> values) {
    if (values.empty()) return;
    connection_.group([&] {
      connection_.check(api_.all_reduce(values.data(), values.data(), values.size(), ncclFloat, ncclSum,
                                        connection_.get(), cuda::handle_of(stream)),
                        "ncclAllReduce");
    });
  }

  /// In the order of ranks: this rank's where they are, the others' where they arrive.
  void name_inputs(const PartialSums& partials, std::size_t begin, float* staging, std::size_t stride) {
    inputs_.clear();
    for (std::size_t peer = 0; peer < size_; ++peer) {
      for (std::size_t i = 0; i < partials.counts[peer]; ++i) {
        if (peer == rank_) {
          inputs_.push_back(partials.own[i] + begin);
        } else {
          inputs_.push_back(staging);
          staging += stride;
        }
      }
    }
  }

  /// What two ranks send each other arrives in order.
  void bring_chunks(const PartialSums& partials, const ExchangeRounds& rounds, std::size_t round) {
    connection_.group([&] {
      std::size_t next = 0;
      for (std::size_t peer = 0; peer < size_; ++peer) {
        for (std::size_t i = 0; i < partials.counts[peer]; ++i, ++next) {
          if (peer == rank_) continue;
          float* const into = const_cast<float*>(inputs_[next]);
          receive(bytes_of(into, rounds.length(partials, rank_, round)), peer);
        }
        if (peer == rank_) continue;
        for (const float* own : partials.own) {
          send(std::as_bytes(std::span(own + rounds.begin(partials, peer, round),
                                       rounds.length(partials, peer, round))),
               peer);
        }
      }
    });
  }

  void bring_results(const PartialSums& partials) {
    const auto slice = [&](std::size_t rank) {
      return bytes_of(partials.results.data() + partials.slices[rank],
                      partials.slices[rank + 1] - partials.slices[rank]);
    };
    connection_.group([&] {
      for (std::size_t peer = 0; peer < size_; ++peer) {
        if (peer == rank_) continue;
        send(slice(rank_), peer);
        receive(slice(peer), peer);
      }
    });
  }

  static std::span<std::byte> bytes_of(float* data, std::size_t count) {
    return std::as_writable_bytes(std::span(data, count));
  }

  void send(std::span<const std::byte> bytes, std::size_t peer) {
    if (bytes.empty()) return;
    connection_.check(api_.send(bytes.data(), bytes.size(), ncclUint8, static_cast<int>(peer),
                                connection_.get(), cuda::handle_of(stream_)),
                      "ncclSend");
  }
  void receive(std::span<std::byte> bytes, std::size_t peer) {
    if (bytes.empty()) return;
    connection_.check(api_.recv(bytes.data(), bytes.size(), ncclUint8, static_cast<int>(peer),
                                connection_.get(), cuda::handle_of(stream_)),
                      "ncclRecv");
  }

  const NcclApi api_;
  Communicator& host_;
  Device& device_;
  Stream& stream_;
  std::size_t rank_, size_;
  ExchangeRounds::Limits limits_;
  ScratchMemory memory_;
  std::vector<const float*> inputs_;
  bool started_ = false;
  NcclConnection connection_;  // ends before the memory that it may still use
};

}  // namespace

std::unique_ptr<Communicator> connect_by_nccl(Communicator& host, const GpuPlace& place, Device& device,
                                              Stream& stream, const NcclOptions& options) {
  return std::make_unique<NcclCommunicator>(host, "GPU " + place.bus, device, stream, options);
}

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const GpuPlace& place,
                                                     Device& device, Stream& stream) {
  NcclOptions options{};
  // Graphs and other launches of NCCL are never in flight together, so graphs need no events between them.
  setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", 0);
  agree(host, [&] { options.api = load_nccl(); });
  return connect_by_nccl(host, place, device, stream, options);
}

}  // namespace lockstep
