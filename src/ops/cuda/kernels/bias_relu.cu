#include "ops/cuda/bias_relu.h"

#include "device/cuda/bfloat16.h"

namespace lockstep::cuda {
namespace {

template <class T>
struct BiasRelu {
  T* values;
  const T* bias;
  std::size_t channels;
  bool relu;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    float value = to_float(values[i]);
    if (bias != nullptr) value += to_float(bias[i % channels]);
    if (relu && value < 0.0F) value = 0.0F;  // NaN stays, as in the library
    values[i] = from_float<T>(value);
  }
};

}  // namespace

void add_bias_relu(StreamHandle stream, Type type, void* values, const void* bias, std::size_t pixels,
                   std::size_t channels, bool relu) {
  if (type == Type::bf16) {
    for_each(stream, pixels * channels,
             BiasRelu<Bfloat16>{static_cast<Bfloat16*>(values), static_cast<const Bfloat16*>(bias), channels,
                                relu});
  } else {
    for_each(stream, pixels * channels,
             BiasRelu<float>{static_cast<float*>(values), static_cast<const float*>(bias), channels, relu});
  }
}

}  // namespace lockstep::cuda
