#include "comm/staged_communicator.h"

#include <algorithm>
#include <numeric>

#include "comm/scratch_memory.h"

namespace lockstep {
namespace {

/// One kind of exchange: the arenas on the host that stand for those of the device.
struct StagedSums final : Kept::State {
  PartialSums sums, results;  ///< as the host's communicator is given them
  bool brings_sums = false;
  std::size_t own_begin = 0;     ///< number of this rank's first partial sum, over all ranks
  std::size_t input_stride = 0;  ///< elements from one staged input to the next
  std::size_t staged_inputs = 0;
  float* arriving = nullptr;         ///< staged inputs on the host
  float* arrived = nullptr;          ///< and on the device
  std::vector<const float*> inputs;  ///< the device's, of all ranks
};

std::size_t whole_lines(std::size_t elements) {
  constexpr std::size_t line = 64;
  return (elements + line - 1) / line * line;
}

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(Communicator& host, Device& device, Stream& stream)
      : host_(host),
        device_(device),
        stream_(stream),
        host_memory_([&device](std::size_t bytes) { return device.allocate_host(bytes); }),
        device_memory_([&device](std::size_t bytes) { return device.allocate(bytes); }) {}

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

  void exchange(PartialSums& partials, const UseChunk& use) override {
    if (!partials.kept.state) partials.kept.state = stage(partials);
    auto& staged = static_cast<StagedSums&>(*partials.kept.state);
    if (staged.brings_sums) bring_sums(partials, staged);
    const auto [begin, end] = own_slice(partials);
    if (begin < end) use(staged.inputs, begin, end);
    if (!partials.results.empty()) bring_results(partials, staged);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    std::byte* const memory = host_memory_.at_least(own.size() + all.size());
    const std::span<std::byte> from(memory, own.size()), into(memory + own.size(), all.size());
    copy(from.data(), own.data(), own.size());
    stream_.host([this, from, lengths = std::vector<std::size_t>(bytes.begin(), bytes.end()), into] {
      host_.all_gather_bytes(from, lengths, into);
    });
    copy(all.data(), into.data(), into.size());
  }

  void all_reduce(std::span<float> values) override {
    const std::span<float> sums(reinterpret_cast<float*>(host_memory_.at_least(values.size_bytes())),
                                values.size());
    copy(sums.data(), values.data(), values.size_bytes());
    stream_.host([this, sums] { host_.all_reduce(sums); });
    copy(values.data(), sums.data(), sums.size_bytes());
  }

  void barrier() override {
    stream_.host([this] { host_.barrier(); });
  }
  void check() override { host_.check(); }

 private:
  std::pair<std::size_t, std::size_t> own_slice(const PartialSums& partials) const {
    const auto rank = static_cast<std::size_t>(host_.rank());
    return {partials.slices[rank], partials.slices[rank + 1]};
  }

  void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) device_.copy(stream_, to, from, bytes);
  }

  /// All of an arena but the own slice.
  void copy_others(const PartialSums& partials, float* to, const float* from) {
    const auto [begin, end] = own_slice(partials);
    copy(to, from, begin * sizeof(float));
    copy(to + end, from + end, (partials.slices.back() - end) * sizeof(float));
  }

  std::unique_ptr<StagedSums> stage(const PartialSums& partials) {
    auto staged = std::make_unique<StagedSums>();
    const auto rank = static_cast<std::ptrdiff_t>(host_.rank());
    const auto& counts = partials.counts;
    const auto total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    staged->brings_sums = total > 0 || partials.results.empty();
    staged->own_begin = std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
    const auto [begin, end] = own_slice(partials);
    staged->staged_inputs = begin == end ? 0 : total - partials.own.size();
    staged->input_stride = whole_lines(end - begin);
    place(partials, *staged);
    name_inputs(partials, *staged);
    return staged;
  }

  /// Results use the first arena: the exchange of partial sums is over when they come.
  void place(const PartialSums& partials, StagedSums& staged) {
    const std::size_t elements = partials.slices.back(), stride = whole_lines(elements);
    const std::size_t arenas = std::max<std::size_t>(partials.own.size(), partials.results.empty() ? 0 : 1);
    const std::size_t input_bytes = staged.staged_inputs * staged.input_stride * sizeof(float);
    auto* const memory =
        reinterpret_cast<float*>(host_memory_.at_least(arenas * stride * sizeof(float) + input_bytes));
    staged.arriving = memory + arenas * stride;
    staged.arrived = reinterpret_cast<float*>(device_memory_.at_least(input_bytes));
    for (std::size_t i = 0; i < partials.own.size(); ++i) staged.sums.own.push_back(memory + i * stride);
    staged.sums.counts = partials.counts;
    staged.sums.slices = partials.slices;
    staged.results.counts.assign(partials.counts.size(), 0);
    staged.results.slices = partials.slices;
    if (!partials.results.empty()) staged.results.results = {memory, elements};
  }

  /// Inputs of an exchange in order: this rank's where they are, the others' where they arrive.
  void name_inputs(const PartialSums& partials, StagedSums& staged) const {
    const auto [begin, end] = own_slice(partials);
    if (begin == end) return;
    const float* arrived = staged.arrived;
    const std::size_t own_end = staged.own_begin + partials.own.size();
    for (std::size_t i = 0; i < staged.staged_inputs + partials.own.size(); ++i) {
      if (i >= staged.own_begin && i < own_end) {
        staged.inputs.push_back(partials.own[i - staged.own_begin] + begin);
      } else {
        staged.inputs.push_back(arrived);
        arrived += staged.input_stride;
      }
    }
  }

  void bring_sums(const PartialSums& partials, StagedSums& staged) {
    for (std::size_t i = 0; i < partials.own.size(); ++i) {
      copy_others(partials, staged.sums.own[i], partials.own[i]);
    }
    stream_.host([this, &staged] {
      host_.exchange(staged.sums, [&](std::span<const float* const> inputs, std::size_t begin,
                                      std::size_t end) { keep_chunk(staged, inputs, begin, end); });
    });
    copy(staged.arrived, staged.arriving, staged.staged_inputs * staged.input_stride * sizeof(float));
  }

  void keep_chunk(StagedSums& staged, std::span<const float* const> inputs, std::size_t begin,
                  std::size_t end) const {
    float* to = staged.arriving + (begin - own_slice(staged.sums).first);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i >= staged.own_begin && i < staged.own_begin + staged.sums.own.size()) continue;
      std::copy_n(inputs[i], end - begin, to);
      to += staged.input_stride;
    }
  }

  void bring_results(const PartialSums& partials, StagedSums& staged) {
    const auto [begin, end] = own_slice(partials);
    float* const arena = staged.results.results.data();
    copy(arena + begin, partials.results.data() + begin, (end - begin) * sizeof(float));
    stream_.host([this, &staged] {
      host_.exchange(staged.results, [](std::span<const float* const>, std::size_t, std::size_t) {});
    });
    copy_others(partials, partials.results.data(), arena);
  }

  Communicator& host_;
  Device& device_;
  Stream& stream_;
  ScratchMemory host_memory_, device_memory_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, Device& device, Stream& stream) {
  return std::make_unique<StagedCommunicator>(host, device, stream);
}

}  // namespace lockstep
