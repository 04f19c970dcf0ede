#include <algorithm>

#include "comm/communicator.h"
#include "comm/sum_chunks.h"

namespace lockstep {
namespace {

class OwnSums final : public SumExchange {
 public:
  explicit OwnSums(const SumLayout& layout)
      : chunks_(layout.slices[0], layout.slices[1], {layout.own.begin(), layout.own.end()},
                layout.slices[1] - layout.slices[0]) {}
  std::optional<SumChunk> next(Stream& /*stream*/) override { return chunks_.next(); }

 private:
  SumChunks chunks_;
};

class NothingToGather final : public Gather {
 public:
  void record(Stream& /*stream*/) override {}
};

class NothingToReduce final : public AllReduce {
 public:
  void start(Stream& /*stream*/) override {}
  void finish(Stream& /*stream*/) override {}
};

/// One rank: everything is where it should be.
class SelfCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  std::unique_ptr<SumExchange> plan_sum(SumLayout layout) override {
    return std::make_unique<OwnSums>(layout);
  }
  std::unique_ptr<Gather> plan_gather(std::span<std::byte> /*all*/,
                                      std::span<const std::size_t> /*bounds*/) override {
    return std::make_unique<NothingToGather>();
  }
  std::unique_ptr<AllReduce> plan_all_reduce(std::span<float> /*values*/) override {
    return std::make_unique<NothingToReduce>();
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> /*bytes*/,
                        std::span<std::byte> all) override {
    std::copy(own.begin(), own.end(), all.begin());
  }
  void barrier() override {}
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() { return std::make_unique<SelfCommunicator>(); }

}  // namespace lockstep
