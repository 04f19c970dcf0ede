#include "lockstep/error.h"
#include "reduce/cuda/fold.h"

namespace lockstep::cuda {

FoldTable::FoldTable(Device& device, const Fold& fold)
    : program_(device, std::span<const std::int32_t>(fold.program)) {
  if (fold.depth > most_sums) throw Error(Category::internal, "a fold needs too many sums at once");
}

}  // namespace lockstep::cuda
