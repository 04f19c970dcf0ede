#include "comm/nccl/nccl_communicator.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "comm/nccl/nccl_connection.h"
#include "comm/transports/scratch_memory.h"
#include "comm/transports/sums_in_rounds.h"
#include "comm/world/agreement.h"
#include "device/cuda/cuda_device.h"
#include "device/kernel_times.h"

namespace lockstep {
namespace {

class NcclCommunicator final : public CommunicatorOfHost {
 public:
  NcclCommunicator(Communicator& host, const std::string& name, Device& device, const NcclOptions& options)
      : CommunicatorOfHost(host),
        device_(device),
        options_(options),
        memory_([&device](std::size_t bytes) { return device.allocate(bytes); }),
        connection_(options.api, host, name, options.local_ranks) {
    device_.while_waiting([this] { connection_.check(); });
    try {
      meet(options.largest_sum);
    } catch (...) {
      device_.while_waiting({});
      throw;
    }
  }
  ~NcclCommunicator() override { device_.while_waiting({}); }

  std::string name() const override { return "NCCL"; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override;
  Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) override {
    return [this, all, bounds = std::vector(bounds.begin(), bounds.end())](Stream& stream) {
      const auto part = [&](std::size_t rank) {
        return all.subspan(bounds[rank], bounds[rank + 1] - bounds[rank]);
      };
      const auto own = static_cast<std::size_t>(rank());
      group(stream, [&] {
        for (std::size_t peer = 0; peer + 1 < bounds.size(); ++peer) {
          if (peer == own) continue;
          send(stream, part(own), peer);
          receive(stream, part(peer), peer);
        }
      });
    };
  }
  AllReduce plan_all_reduce(std::span<float> values) override {
    return {.start =
                [this, values](Stream& stream) {
                  if (!values.empty()) all_reduce(fork(stream), values);
                },
            .finish = [this](Stream& stream) { join(stream); }};
  }

  Stream& fork(Stream& stream) override {
    Stream& side = cuda::communication_stream(device_);
    side.wait(stream.record());
    working_ = true;
    return side;
  }
  void join(Stream& stream) override {
    if (std::exchange(working_, false)) stream.wait(cuda::communication_stream(device_).record());
  }

  void check() override { connection_.check(); }

  /// Submits the sends and receives of `calls` to NCCL as one group.
  template <class Calls>
  void group(Stream& stream, const Calls& calls) {
    if (&stream != &cuda::communication_stream(device_)) join(stream);
    timed_launch(cuda::handle_of(stream), "NCCL send and receive", [&] { connection_.group(calls); });
  }
  void send(const Stream& stream, std::span<const std::byte> bytes, std::size_t peer) {
    if (bytes.empty()) return;
    connection_.check(options_.api.send(bytes.data(), bytes.size(), ncclUint8, static_cast<int>(peer),
                                        connection_.get(), cuda::handle_of(stream)),
                      "ncclSend");
  }
  void receive(const Stream& stream, std::span<std::byte> bytes, std::size_t peer) {
    if (bytes.empty()) return;
    connection_.check(options_.api.recv(bytes.data(), bytes.size(), ncclUint8, static_cast<int>(peer),
                                        connection_.get(), cuda::handle_of(stream)),
                      "ncclRecv");
  }

 private:
  void all_reduce(const Stream& stream, std::span<float> values) {
    const cuda::StreamHandle handle = cuda::handle_of(stream);
    const auto call = [&] {
      connection_.check(options_.api.all_reduce(values.data(), values.data(), values.size(), ncclFloat,
                                                ncclSum, connection_.get(), handle),
                        "ncclAllReduce");
    };
    timed_launch(handle, "NCCL all-reduce", [&] { connection_.group(call); });
  }

  /// Makes NCCL connect now, by running operations of each kind: NCCL connects at the first use, in ways that
  /// depend on the size of the operation. If a rank failed to connect within a recording, the others would
  /// wait forever.
  void meet(std::size_t largest_sum) {
    Stream& stream = *device_.streams()[0];
    const auto ranks = static_cast<std::size_t>(size());
    const Buffer numbers = device_.allocate(std::max(ranks, largest_sum) * sizeof(float));
    std::vector<std::size_t> bounds(ranks + 1);
    for (std::size_t i = 0; i <= ranks; ++i) bounds[i] = i * sizeof(float);
    plan_gather({numbers.data(), bounds.back()}, bounds)(stream);
    for (std::size_t elements = 64; elements < largest_sum; elements *= 16) {
      all_reduce(stream, numbers.floats().first(elements));
    }
    all_reduce(stream, numbers.floats());
    float first = 0.0F;
    device_.copy(&first, numbers.data(), sizeof first);
  }

  Device& device_;
  const NcclOptions options_;
  bool working_ = false;  ///< whether exchanges are in progress that no stream waits for yet
  ScratchMemory memory_;
  NcclConnection connection_;  ///< destroyed before the memory that it may use
};

/// Sums in rounds, all of which use the same memory, one after the other.
class NcclSums final : public RoutedSums {
 public:
  NcclSums(NcclCommunicator& communicator, ScratchMemory& memory, std::size_t rank, SumLayout layout,
           std::size_t chunk)
      : RoutedSums(rank, std::move(layout),
                   routes_to_all(rank, static_cast<std::size_t>(communicator.size())), chunk),
        communicator_(communicator) {
    std::byte* const arrived = memory.at_least(arrivals() * arrival_stride() * sizeof(float));
    for (std::size_t round = 0; round < rounds(); ++round) {
      place_inputs(round, reinterpret_cast<float*>(arrived));
    }
  }

 private:
  /// NCCL matches sends and receives between two ranks by their order.
  void record_round(Stream& stream, std::size_t round) override {
    if (layout_.inputs() == 0) return;
    communicator_.group(stream, [&] {
      transfer(
          round,
          [&](std::span<std::byte> bytes, std::size_t peer, std::size_t /*i*/) {
            communicator_.receive(stream, bytes, peer);
          },
          [&](std::span<const std::byte> bytes, std::size_t peer, std::size_t /*i*/) {
            communicator_.send(stream, bytes, peer);
          });
    });
  }

  NcclCommunicator& communicator_;
};

std::unique_ptr<SumExchange> NcclCommunicator::plan_sum(SumLayout layout) {
  const ChunkLimits limits{
      .staging = options_.staging, .smallest = 1 << 12, .largest = std::numeric_limits<std::size_t>::max()};
  const std::size_t chunk = limits.chunk(layout.inputs());
  return std::make_unique<NcclSums>(*this, memory_, static_cast<std::size_t>(rank()), std::move(layout),
                                    chunk);
}

}  // namespace

std::unique_ptr<Communicator> connect_by_nccl(Communicator& host, const std::string& gpu, Device& device,
                                              const NcclOptions& options) {
  return std::make_unique<NcclCommunicator>(host, "GPU " + gpu, device, options);
}

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const std::string& gpu,
                                                     Device& device, int local_ranks) {
  NcclOptions options{};
  options.local_ranks = local_ranks;
  // Graphs and other launches of NCCL are never in flight together, so graphs need no events between them.
  setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", 0);
  agree(host, [&] { options.api = load_nccl(); });
  return connect_by_nccl(host, gpu, device, options);
}

}  // namespace lockstep
