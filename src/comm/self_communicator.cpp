#include <algorithm>

#include "comm/communicator.h"

namespace lockstep {
namespace {

/// One rank: everything is here already.
class SelfCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  void exchange(PartialSums& partials, const UseChunk& use) override {
    inputs_.resize(partials.own.size());
    const std::size_t begin = partials.slices[0], end = partials.slices[1];
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = partials.own[i] + begin;
    if (begin < end) use(inputs_, begin, end);
  }

  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t>,
                        std::span<std::byte> all) override {
    std::copy(own.begin(), own.end(), all.begin());
  }
  void all_reduce(std::span<float>) override {}
  void barrier() override {}

 private:
  std::vector<const float*> inputs_;
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() { return std::make_unique<SelfCommunicator>(); }

}  // namespace lockstep
