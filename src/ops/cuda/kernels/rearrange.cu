#include "ops/cuda/kernels/rearrange.h"

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

/// Sizes of an image and of the flattened vector.
struct FlatSizes {
  Index channels, plane, stride;  ///< plane: pixels; stride: padded channels of a pixel
  Index size, flat_stride;
};

FlatSizes flat_sizes(const Shape& image) {
  return {.channels = static_cast<Index>(image.channels),
          .plane = static_cast<Index>(image.height * image.width),
          .stride = static_cast<Index>(padded_channels(image.channels)),
          .size = static_cast<Index>(image.size()),
          .flat_stride = static_cast<Index>(padded_channels(static_cast<int>(image.size())))};
}

template <class T>
struct Flatten {
  FlatSizes sizes;
  const T* input;
  T* output;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const auto sample = index / sizes.flat_stride;
    const auto i = static_cast<Index>(index % sizes.flat_stride);
    const std::size_t pixel = sample * sizes.plane + i % sizes.plane;
    output[index] = i < sizes.size ? input[pixel * sizes.stride + i / sizes.plane] : from_float<T>(0.0F);
  }
};

template <class T>
struct UndoFlatten {
  FlatSizes sizes;
  const T* grad_output;
  T* grad_input;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const std::size_t pixel = index / sizes.stride;
    const auto channel = static_cast<Index>(index % sizes.stride);
    const std::size_t flat =
        pixel / sizes.plane * sizes.flat_stride + channel * sizes.plane + pixel % sizes.plane;
    grad_input[index] = channel < sizes.channels ? grad_output[flat] : from_float<T>(0.0F);
  }
};

/// Computes one element of the output per thread.
template <class T>
struct Concatenate {
  Index stride;  ///< of the output
  int count;
  Index channels[max_inputs];
  Index strides[max_inputs];
  const T* inputs[max_inputs];
  T* output;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const std::size_t pixel = index / stride;
    auto channel = static_cast<Index>(index % stride);
    int k = 0;
    while (k < count && channel >= channels[k]) channel -= channels[k++];
    output[index] = k < count ? inputs[k][pixel * strides[k] + channel] : from_float<T>(0.0F);
  }
};

/// Computes one element of an input's gradient per thread. The input's channels begin at `first`.
template <class T>
struct UndoConcatenate {
  Index stride, first, channels, input_stride;
  const T* grad_output;
  T* grad_input;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const std::size_t pixel = index / input_stride;
    const auto channel = static_cast<Index>(index % input_stride);
    grad_input[index] =
        channel < channels ? grad_output[pixel * stride + first + channel] : from_float<T>(0.0F);
  }
};

Index output_stride(const ConcatTask& task) {
  int channels = 0;
  for (const int each : task.channels) channels += each;
  return static_cast<Index>(padded_channels(channels));
}

}  // namespace

void flatten(StreamHandle stream, Type type, int samples, const Shape& image, const void* input,
             void* output) {
  const FlatSizes sizes = flat_sizes(image);
  with_stored(type, [&]<class T>(T /*stored*/) {
    for_each(stream, std::size_t{sizes.flat_stride} * samples,
             Flatten<T>{sizes, static_cast<const T*>(input), static_cast<T*>(output)});
  });
}

void undo_flatten(StreamHandle stream, Type type, int samples, const Shape& image, const void* grad_output,
                  void* grad_input) {
  const FlatSizes sizes = flat_sizes(image);
  with_stored(type, [&]<class T>(T /*stored*/) {
    for_each(stream, std::size_t{sizes.stride} * sizes.plane * samples,
             UndoFlatten<T>{sizes, static_cast<const T*>(grad_output), static_cast<T*>(grad_input)});
  });
}

void concatenate(StreamHandle stream, const ConcatTask& task,
                 const std::array<const void*, max_inputs>& inputs, void* output) {
  with_stored(task.type, [&]<class T>(T /*stored*/) {
    Concatenate<T> work{};
    work.stride = output_stride(task);
    work.count = task.count;
    work.output = static_cast<T*>(output);
    for (std::size_t k = 0; k < max_inputs; ++k) {
      work.channels[k] = static_cast<Index>(task.channels[k]);
      work.strides[k] = static_cast<Index>(padded_channels(task.channels[k]));
      work.inputs[k] = static_cast<const T*>(inputs[k]);
    }
    for_each(stream, task.pixels * work.stride, work);
  });
}

void undo_concatenate(StreamHandle stream, const ConcatTask& task, const void* grad_output,
                      const std::array<void*, max_inputs>& grad_inputs) {
  with_stored(task.type, [&]<class T>(T /*stored*/) {
    UndoConcatenate<T> work{};
    work.stride = output_stride(task);
    work.grad_output = static_cast<const T*>(grad_output);
    for (std::size_t k = 0; k < static_cast<std::size_t>(task.count); ++k) {
      work.channels = static_cast<Index>(task.channels[k]);
      work.input_stride = static_cast<Index>(padded_channels(task.channels[k]));
      work.grad_input = static_cast<T*>(grad_inputs[k]);
      if (grad_inputs[k] != nullptr) for_each(stream, task.pixels * work.input_stride, work);
      work.first += work.channels;
    }
  });
}

}  // namespace lockstep::cuda
