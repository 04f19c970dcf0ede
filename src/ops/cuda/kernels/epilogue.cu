#include "ops/cuda/kernels/epilogue.h"

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

template <class T>
struct ApplyEpilogue {
  explicit ApplyEpilogue(const LateEpilogue& epilogue)
      : values(static_cast<T*>(epilogue.values)),
        bias(static_cast<const T*>(epilogue.bias)),
        channels(epilogue.channels),
        relu(epilogue.relu) {}

  T* values;
  const T* bias;
  std::size_t channels;
  bool relu;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    float value = to_float(values[i]);
    if (bias != nullptr) value += to_float(bias[i % channels]);
    if (relu && value < 0.0F) value = 0.0F;  // keeps NaN
    values[i] = from_float<T>(value);
  }
};

}  // namespace

void run_epilogue(StreamHandle stream, const LateEpilogue& epilogue) {
  const std::size_t count = epilogue.pixels * epilogue.channels;
  with_stored(epilogue.type,
              [&]<class T>(T /*stored*/) { for_each(stream, count, ApplyEpilogue<T>(epilogue)); });
}

}  // namespace lockstep::cuda
