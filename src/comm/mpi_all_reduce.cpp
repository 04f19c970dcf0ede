#include "comm/mpi_all_reduce.h"

#include <algorithm>

namespace lockstep {
namespace {

class MpiAllReduce final : public AllReduce {
 public:
  MpiAllReduce(std::span<float> values, const MpiGroup& group) : values_(values), group_(group) {}

  void start(Stream& stream) override {
    stream.call([this] { reduce(); }, Phase::reduce);
  }
  void finish(Stream& /*stream*/) override {}

 private:
  void reduce() const {
    constexpr std::size_t largest = std::size_t{1} << 28;  // MPI counts are ints
    for (std::span<float> rest = values_; !rest.empty();) {
      const std::span<float> part = rest.first(std::min(rest.size(), largest));
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_FLOAT, MPI_SUM,
                              group_.get()),
                "MPI_Allreduce");
      rest = rest.subspan(part.size());
    }
  }

  std::span<float> values_;
  const MpiGroup& group_;
};

}  // namespace

std::unique_ptr<AllReduce> plan_mpi_all_reduce(std::span<float> values, const MpiGroup& group) {
  return std::make_unique<MpiAllReduce>(values, group);
}

}  // namespace lockstep
