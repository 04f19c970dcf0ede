#include "ops/cpu/kernels/conversion.h"

#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

template <class From, class To>
void convert(std::size_t count, const From* from, To* to) {
  for (std::size_t i = 0; i < pixels(count); i += width) store(load(from + i), to + i);
}

void round_floats(std::size_t count, const float* from, float* to) {
  for (std::size_t i = 0; i < count; i += width) {
    const Mask inside = hn::FirstN(floats, count - i);
    const bool whole = count - i >= width;
    const Vector v = whole ? hn::LoadU(floats, from + i) : load_some(from + i, static_cast<int>(count - i));
    hn::BlendedStore(rounded(v), inside, floats, to + i);
  }
}

}  // namespace

const ConversionKernels conversion_kernels{
    .widen = convert<Bfloat16, float>, .round = convert<float, Bfloat16>, .round_floats = round_floats};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
