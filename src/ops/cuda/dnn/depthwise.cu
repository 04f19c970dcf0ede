#include "ops/cuda/dnn/depthwise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

/// A problem in the form that kernels read. `size` and `known_stride`: kernel size and stride as compile-time
/// constants, so that the compiler unrolls loops, for common convolutions without dilation; both are 0 for
/// all others.
template <int size, int known_stride>
struct Depthwise {
  static constexpr int kernel_size = size;
  static constexpr int step = std::max(known_stride, 1);
  static constexpr bool has_stride_1 = known_stride == 1;

  explicit Depthwise(const ConvProblem& problem)
      : input(packed_images(problem.in_height, problem.in_width, problem.in_channels)),
        output(packed_images(problem.out_height, problem.out_width, problem.out_channels)),
        any_kernel(problem.kernel),
        any_stride(problem.stride),
        padding(problem.padding),
        dilation(problem.dilation) {}

  LOCKSTEP_HD int kernel() const { return size > 0 ? size : any_kernel; }
  LOCKSTEP_HD int stride() const { return known_stride > 0 ? known_stride : any_stride; }
  /// Input row that kernel row `i` reads for output row `row`; may be outside the image. Also used for
  /// columns.
  LOCKSTEP_HD int input_at(unsigned row, int i) const {
    return static_cast<int>(row) * stride() - padding + i * dilation;
  }
  /// Output row for which kernel row `i` reads input row `row`; -1: none. Also used for columns.
  LOCKSTEP_HD int output_at(unsigned row, int i) const {
    const int from = static_cast<int>(row) + padding - i * dilation;
    if (from < 0) return -1;
    const unsigned apart = static_cast<unsigned>(stride()), at = static_cast<unsigned>(from) / apart;
    return at * apart == static_cast<unsigned>(from) ? static_cast<int>(at) : -1;
  }
  /// The output divided into strips of `length` adjacent columns; the last strip of a row may be shorter.
  PackedImages strips(int length) const {
    const auto columns = static_cast<unsigned>(length);
    return {output.height, (output.width + columns - 1) / columns, output.packs};
  }

  PackedImages input;
  PackedImages output;
  int any_kernel;
  int any_stride;
  int padding;
  int dilation;
};

LOCKSTEP_HD bool is_inside(int at, unsigned size) { return at >= 0 && static_cast<unsigned>(at) < size; }

LOCKSTEP_HD void add_products(Pack<float>& sum, const Pack<float>& a, const Pack<float>& b) {
  for (int k = 0; k < channel_unit; ++k) sum.values[k] = std::fma(a.values[k], b.values[k], sum.values[k]);
}

/// Pack `at.pack` of the pixel at `row` and `column`; zeros if `column` is outside the image.
template <class T>
LOCKSTEP_HD Pack<T> pack_or_zeros(const PackedImages& images, const Pack<T>* packs, const PackPlace& at,
                                  int row, int column) {
  return is_inside(column, images.width) ? packs[images.index(at, row, column)] : Pack<T>{};
}

/// Rearranges weights to [kernel row][kernel column][channel], so that a pack is read at once. `opposite`:
/// reverses the order of rows and columns.
template <class T>
struct ArrangeWeights {
  unsigned channels;
  unsigned taps;  ///< per channel
  bool opposite;
  const T* weight;
  float* arranged;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const auto at = static_cast<unsigned>(i);
    const unsigned tap = at / channels;
    arranged[at] = to_float(weight[at % channels * taps + (opposite ? taps - 1 - tap : tap)]);
  }
};

/// Computes a pack of each output pixel of a strip: bias + sum of products, in the order of the kernel's rows
/// and columns.
template <class T, class Conv>
struct DepthwiseForward {
  static constexpr int size = Conv::kernel_size;
  static constexpr bool is_small = size == 3 || sizeof(T) == 2;
  static constexpr int length = size == 0 ? 1 : Conv::step == 1 && is_small ? 4 : 2;  ///< length of a strip

  Conv conv;
  const Pack<T>* input;
  const Pack<float>* weights;  ///< from ArrangeWeights
  const Pack<T>* bias;         ///< null: none
  bool relu;
  Pack<T>* output;
  PackedImages strips{};  ///< set by run

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const PackPlace at = strips.place(index);
    const unsigned first = at.column * length;
    Pack<float> sums[length]{};
    if (bias != nullptr) {
      for (Pack<float>& sum : sums) sum = to_floats(bias[at.pack]);
    }
    for (int i = 0; i < conv.kernel(); ++i) {
      const int row = conv.input_at(at.row, i);
      if (!is_inside(row, conv.input.height)) continue;
      const Pack<float>* const line =
          weights + static_cast<unsigned>(i * conv.kernel()) * strips.packs + at.pack;
      if constexpr (size == 0) {
        for (int j = 0; j < conv.kernel(); ++j) {
          add_products(sums[0], to_floats(pack_or_zeros(conv.input, input, at, row, conv.input_at(first, j))),
                       line[static_cast<unsigned>(j) * strips.packs]);
        }
      } else {
        constexpr int reach = (length - 1) * Conv::step + size;
        Pack<T> read[reach];
        for (int c = 0; c < reach; ++c) {
          read[c] = pack_or_zeros(conv.input, input, at, row, conv.input_at(first, 0) + c);
        }
        for (int j = 0; j < size; ++j) {
          const Pack<float> weight = line[static_cast<unsigned>(j) * strips.packs];
          for (int n = 0; n < length; ++n) add_products(sums[n], to_floats(read[n * Conv::step + j]), weight);
        }
      }
    }
    for (int n = 0; n < length; ++n) {
      const unsigned column = first + static_cast<unsigned>(n);
      if (column < conv.output.width)
        store(sums[n], conv.output.index(at, static_cast<int>(at.row), static_cast<int>(column)));
    }
  }

 private:
  LOCKSTEP_HD void store(Pack<float> sum, std::size_t index) const {
    if (relu) {
      for (float& value : sum.values) value = value < 0.0F ? 0.0F : value;  // keeps NaN
    }
    output[index] = from_floats<T>(sum);
  }
};

/// Computes a pack of the input's gradient: the sum over the output pixels that read the input pixel, in the
/// order of the kernel's rows and columns.
template <class T, class Conv>
struct DepthwiseBackwardData {
  Conv conv;
  const Pack<T>* grad_output;
  const Pack<float>* weights;  ///< from ArrangeWeights
  Pack<T>* grad_input;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const PackPlace at = conv.input.place(index);
    Pack<float> sum{};
    for (int i = 0; i < conv.kernel(); ++i) {
      const int row = conv.output_at(at.row, i);
      if (!is_inside(row, conv.output.height)) continue;
      for (int j = 0; j < conv.kernel(); ++j) {
        const int column = conv.output_at(at.column, j);
        if (!is_inside(column, conv.output.width)) continue;
        const auto tap = static_cast<unsigned>(i * conv.kernel() + j);
        add_products(sum, to_floats(grad_output[conv.output.index(at, row, column)]),
                     weights[tap * conv.input.packs + at.pack]);
      }
    }
    grad_input[index] = from_floats<T>(sum);
  }
};

/// Problem of the convolution with opposite weights that computes the input gradient of `problem`, whose
/// stride is 1.
ConvProblem opposite_of(ConvProblem problem) {
  std::swap(problem.in_height, problem.out_height);
  std::swap(problem.in_width, problem.out_width);
  problem.padding = problem.dilation * (problem.kernel - 1) - problem.padding;
  return problem;
}

// The gradient of the weights is summed within chunks of this many strips of the output, then over the
// chunks.
constexpr unsigned weight_chunk = 2048;

std::size_t weight_count(const ConvProblem& problem) {
  return static_cast<std::size_t>(problem.out_channels) * static_cast<std::size_t>(problem.kernel) *
         static_cast<std::size_t>(problem.kernel);
}

/// Sums the weight gradient over a chunk, for a pack of channels and `columns` adjacent columns of a kernel
/// row.
template <class T, class Conv>
struct WeightSums {
  static constexpr int columns = Conv::kernel_size == 3 ? 3 : 1;       // more need too much shared memory
  static constexpr bool has_room = Conv::step == 1 && sizeof(T) == 2;  ///< registers allow longer strips
  static constexpr int length = Conv::kernel_size == 0 ? 1 : has_room ? 4 : 2;  ///< length of a strip
  static constexpr int reach = (length - 1) * Conv::step + columns;
  static constexpr unsigned ahead = 1;

  struct Sum {
    Pack<float> of_columns[columns]{};
    LOCKSTEP_HD Sum& operator+=(const Sum& other) {
      for (int j = 0; j < columns; ++j) {
        for (int k = 0; k < channel_unit; ++k) of_columns[j].values[k] += other.of_columns[j].values[k];
      }
      return *this;
    }
  };
  struct Place {
    unsigned chunk;
    unsigned pack;
    unsigned row;     ///< kernel row
    unsigned column;  ///< first kernel column
    unsigned count;   ///< number of strips; 0 beyond the last pack
  };
  struct Strip {
    Pack<T> grads[length];
    Pack<T> inputs[reach];
  };

  Conv conv;
  PackedImages strips;
  unsigned strips_in_all;  ///< per channel, over all samples
  unsigned all_lanes;
  unsigned groups;    ///< of packs, one pack per lane
  unsigned tap_sets;  ///< number of sets of `columns` taps in a kernel
  const Pack<T>* input;
  const Pack<T>* grad_output;
  float* sums;  ///< [chunk][channel][tap]

  LOCKSTEP_HD unsigned lanes() const { return all_lanes; }
  LOCKSTEP_HD Place place(std::size_t row, unsigned lane) const {
    const auto at = static_cast<unsigned>(row);
    const unsigned chunk = at / (groups * tap_sets);
    const unsigned pack = at % groups * all_lanes + lane;
    const unsigned rest = strips_in_all - chunk * weight_chunk;
    const unsigned count = rest < weight_chunk ? rest : weight_chunk;
    const unsigned tap = at / groups % tap_sets * columns;
    const auto kernel = static_cast<unsigned>(conv.kernel());
    return {chunk, pack, tap / kernel, tap % kernel, pack < strips.packs ? count : 0};
  }
  LOCKSTEP_HD std::size_t terms(const Place& place) const { return place.count; }
  LOCKSTEP_HD Strip load(const Place& place, std::size_t k) const {
    const unsigned number = place.chunk * weight_chunk + static_cast<unsigned>(k),
                   line = number / strips.width;
    const PackPlace at{place.pack, number % strips.width, line % strips.height, line / strips.height};
    const unsigned first = at.column * length;
    Strip strip{};
    const int row = conv.input_at(at.row, static_cast<int>(place.row));
    if (!is_inside(row, conv.input.height)) return strip;
    for (int n = 0; n < length; ++n) {
      strip.grads[n] =
          pack_or_zeros(conv.output, grad_output, at, static_cast<int>(at.row), static_cast<int>(first) + n);
    }
    const int column = conv.input_at(first, static_cast<int>(place.column));
    for (int c = 0; c < reach; ++c) strip.inputs[c] = pack_or_zeros(conv.input, input, at, row, column + c);
    return strip;
  }
  LOCKSTEP_HD Sum term(const Place& /*place*/, std::size_t /*k*/, const Strip& strip) const {
    Sum sum;
    for (int j = 0; j < columns; ++j) {
      for (int n = 0; n < length; ++n) {
        add_products(sum.of_columns[j], to_floats(strip.grads[n]),
                     to_floats(strip.inputs[n * Conv::step + j]));
      }
    }
    return sum;
  }
  LOCKSTEP_HD void finish(const Place& place, const Sum& sum) const {
    if (place.count == 0) return;
    const auto taps = static_cast<unsigned>(conv.kernel() * conv.kernel());
    const unsigned first = (place.chunk * strips.packs + place.pack) * channel_unit;
    for (unsigned k = 0; k < channel_unit; ++k) {
      float* const of_channel = sums + std::size_t{first + k} * taps +
                                place.row * static_cast<unsigned>(conv.kernel()) + place.column;
      for (int j = 0; j < columns; ++j) of_channel[j] = sum.of_columns[j].values[k];
    }
  }
};

/// Adds up the sums of the chunks in chunk order.
template <class T>
struct AddWeightSums {
  std::size_t weights;
  std::size_t chunks;
  const float* sums;
  T* grad_weight;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    float sum = 0.0F;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) sum += sums[chunk * weights + i];
    grad_weight[i] = from_float<T>(sum);
  }
};

/// Calls run(conv, value) with the Depthwise of the problem's kernel size and stride, and a value of the
/// stored type.
template <class Run>
void with_kernel(const ConvProblem& problem, const Run& run) {
  const auto is = [&](int size, int stride) {
    return problem.kernel == size && problem.stride == stride && problem.dilation == 1;
  };
  with_stored(problem.type, [&](auto stored) {
    if (is(3, 1)) {
      run(Depthwise<3, 1>(problem), stored);
    } else if (is(3, 2)) {
      run(Depthwise<3, 2>(problem), stored);
    } else if (is(5, 1)) {
      run(Depthwise<5, 1>(problem), stored);
    } else if (is(5, 2)) {
      run(Depthwise<5, 2>(problem), stored);
    } else {
      run(Depthwise<0, 0>(problem), stored);
    }
  });
}

/// Arranges the weights in the workspace, and returns them.
template <class T>
const Pack<float>* arrange_weights(StreamHandle stream, const ConvProblem& problem, const void* weight,
                                   bool opposite, void* workspace) {
  for_each(stream, weight_count(problem),
           ArrangeWeights<T>{.channels = static_cast<unsigned>(problem.out_channels),
                             .taps = static_cast<unsigned>(problem.kernel * problem.kernel),
                             .opposite = opposite,
                             .weight = static_cast<const T*>(weight),
                             .arranged = static_cast<float*>(workspace)});
  return static_cast<const Pack<float>*>(workspace);
}

template <class T, class Conv>
void run(StreamHandle stream, int samples, DepthwiseForward<T, Conv> work) {
  work.strips = work.conv.strips(work.length);
  for_each(stream, work.strips.count(samples), work);
}

template <class T, class Conv>
WeightSums<T, Conv> weight_sums(const ConvProblem& problem, const Conv& conv, const void* input,
                                const void* grad_output, void* workspace) {
  using Sums = WeightSums<T, Conv>;
  const PackedImages strips = conv.strips(Sums::length);
  const auto lanes = static_cast<unsigned>(lanes_for(strips.packs));
  return {.conv = conv,
          .strips = strips,
          .strips_in_all = static_cast<unsigned>(problem.samples) * strips.height * strips.width,
          .all_lanes = lanes,
          .groups = (strips.packs + lanes - 1) / lanes,
          .tap_sets = static_cast<unsigned>(problem.kernel * problem.kernel / Sums::columns),
          .input = packs_at<T>(input),
          .grad_output = packs_at<T>(grad_output),
          .sums = static_cast<float*>(workspace)};
}

std::size_t chunks_of(std::size_t strips) { return (strips + weight_chunk - 1) / weight_chunk; }

void run_forward(StreamHandle stream, const ConvProblem& problem, std::span<void* const> tensors, bool bias,
                 bool relu, void* workspace) {
  with_kernel(problem, [&]<class Conv, class T>(const Conv& conv, T /*stored*/) {
    run(stream, problem.samples,
        DepthwiseForward<T, Conv>{
            .conv = conv,
            .input = packs_at<T>(tensors[0]),
            .weights = arrange_weights<T>(stream, problem, tensors[1], false, workspace),
            .bias = bias ? packs_at<T>(tensors[2]) : nullptr,
            .relu = relu,
            .output = packs_at<T>(tensors.back())});
  });
}

void run_backward_data(StreamHandle stream, const ConvProblem& problem, std::span<void* const> tensors,
                       void* workspace) {
  const bool opposite = problem.stride == 1;
  const ConvProblem computed = opposite ? opposite_of(problem) : problem;
  with_kernel(computed, [&]<class Conv, class T>(const Conv& conv, T /*stored*/) {
    const auto* const grad_output = packs_at<T>(tensors[0]);
    auto* const grad_input = packs_at<T>(tensors[2]);
    const Pack<float>* const weights = arrange_weights<T>(stream, problem, tensors[1], opposite, workspace);
    if (opposite) {
      return run(stream, problem.samples,
                 DepthwiseForward<T, Conv>{.conv = conv,
                                           .input = grad_output,
                                           .weights = weights,
                                           .bias = nullptr,
                                           .relu = false,
                                           .output = grad_input});
    }
    if constexpr (!Conv::has_stride_1) {
      for_each(stream, conv.input.count(problem.samples),
               DepthwiseBackwardData<T, Conv>{conv, grad_output, weights, grad_input});
    }
  });
}

void run_backward_weights(StreamHandle stream, const ConvProblem& problem, std::span<void* const> tensors,
                          void* workspace) {
  with_kernel(problem, [&]<class Conv, class T>(const Conv& conv, T /*stored*/) {
    const auto sums = weight_sums<T>(problem, conv, tensors[0], tensors[1], workspace);
    const std::size_t chunks = chunks_of(sums.strips_in_all);
    for_each_row(stream, chunks * sums.groups * sums.tap_sets, sums);
    for_each(stream, weight_count(problem),
             AddWeightSums<T>{weight_count(problem), chunks, static_cast<const float*>(workspace),
                              static_cast<T*>(tensors[2])});
  });
}

void run_depthwise(StreamHandle stream, const ConvTask& task, std::span<void* const> tensors,
                   void* workspace) {
  switch (task.direction) {
    case ConvDirection::forward:
      return run_forward(stream, task.problem, tensors, task.bias, task.relu, workspace);
    case ConvDirection::backward_data:
      return run_backward_data(stream, task.problem, tensors, workspace);
    case ConvDirection::backward_weights:
      return run_backward_weights(stream, task.problem, tensors, workspace);
  }
}

/// Size of the workspace in floats.
std::size_t workspace_of(const ConvTask& task) {
  const ConvProblem& problem = task.problem;
  if (task.direction != ConvDirection::backward_weights) return weight_count(problem);
  const std::size_t pixels = static_cast<std::size_t>(problem.samples) *
                             static_cast<std::size_t>(problem.out_height) *
                             static_cast<std::size_t>(problem.out_width);
  return chunks_of(pixels) * weight_count(problem);  // enough for strips of one column
}

}  // namespace

bool is_depthwise(const ConvProblem& problem) {
  return problem.groups > 1 && problem.groups == problem.in_channels &&
         problem.groups == problem.out_channels;
}

DnnOperation plan_depthwise(const ConvTask& task) {
  return {.description = "depthwise kernel",
          .workspace_bytes = workspace_of(task) * sizeof(float),
          .run = [task](StreamHandle stream, std::span<void* const> tensors, void* workspace) {
            run_depthwise(stream, task, tensors, workspace);
          }};
}

}  // namespace lockstep::cuda
