#include "ops/cpu/kernels/linear.h"
#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Register block: rows of the result x vectors of images.
constexpr int max_rows = many_registers ? 8 : 5;
constexpr int max_vectors = 2;

/// output[i] = bias[i] + sum over t ascending of weight(i, t) * input[t], for the images of all groups.
/// Weight (i, t) is at [i][t], or at [t][i] if TRANSPOSED.
template <class Element>
struct Product {
  int rows;
  int terms;
  int vectors;  ///< over all groups
  const float* weight;
  const float* bias;  ///< null: zeros
  const Element* input;
  Element* output;
};

HWY_INLINE std::size_t vector_offset(int vector, int per_group) {
  return pixels(static_cast<std::size_t>(vector / parts) * per_group) + vector % parts * width;
}

template <bool TRANSPOSED, int ROWS, int VECTORS, class Element>
HWY_NOINLINE void tile(const Product<Element>& task, int row, int vector) {
  const std::size_t row_step = TRANSPOSED ? 1 : task.terms;
  const std::size_t term_step = TRANSPOSED ? task.rows : 1;
  const float* weight = task.weight + row * row_step;
  const Element* input[VECTORS];
  Vector sum[ROWS][VECTORS];
  LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) {
    input[v] = task.input + vector_offset(vector + v, task.terms);
    LOCKSTEP_UNROLL for (int i = 0; i < ROWS; ++i) {
      sum[i][v] = task.bias == nullptr ? hn::Zero(floats) : hn::Set(floats, task.bias[row + i]);
    }
  }
  for (int t = 0; t < task.terms; ++t, weight += term_step) {
    Vector x[VECTORS];
    LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) { x[v] = load(input[v] + pixels(t)); }
    LOCKSTEP_UNROLL for (int i = 0; i < ROWS; ++i) {
      const Vector factor = hn::Set(floats, weight[i * row_step]);
      LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) { sum[i][v] = hn::MulAdd(x[v], factor, sum[i][v]); }
    }
  }
  LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) {
    Element* output = task.output + vector_offset(vector + v, task.rows) + pixels(row);
    LOCKSTEP_UNROLL for (int i = 0; i < ROWS; ++i) { store(sum[i][v], output + pixels(i)); }
  }
}

template <bool TRANSPOSED, int ROWS, class Element>
int rows_of(const Product<Element>& task, int row) {
  for (; row + ROWS <= task.rows; row += ROWS) {
    int v = 0;
    for (; v + max_vectors <= task.vectors; v += max_vectors) {
      tile<TRANSPOSED, ROWS, max_vectors>(task, row, v);
    }
    for (; v < task.vectors; ++v) {
      tile<TRANSPOSED, ROWS, 1>(task, row, v);
    }
  }
  return row;
}

template <bool TRANSPOSED, class Element>
void multiply(const Product<Element>& task) {
  int row = rows_of<TRANSPOSED, max_rows>(task, 0);
  row = rows_of<TRANSPOSED, 2>(task, row);
  rows_of<TRANSPOSED, 1>(task, row);
}

std::size_t padded(int inputs) { return static_cast<std::size_t>((inputs + lanes - 1) / lanes * lanes); }

/// Transposes 4 x 4 values in rows `from_step` floats apart.
HWY_INLINE void transpose_block(const float* from, std::size_t from_step, float* to, std::size_t to_step) {
  const hn::FixedTag<float, 4> d;
  const auto a = hn::Load(d, from);
  const auto b = hn::Load(d, from + from_step);
  const auto c = hn::Load(d, from + 2 * from_step);
  const auto e = hn::Load(d, from + 3 * from_step);
  const auto ac_low = hn::InterleaveLower(d, a, c);
  const auto ac_high = hn::InterleaveUpper(d, a, c);
  const auto be_low = hn::InterleaveLower(d, b, e);
  const auto be_high = hn::InterleaveUpper(d, b, e);
  hn::Store(hn::InterleaveLower(d, ac_low, be_low), d, to);
  hn::Store(hn::InterleaveUpper(d, ac_low, be_low), d, to + to_step);
  hn::Store(hn::InterleaveLower(d, ac_high, be_high), d, to + 2 * to_step);
  hn::Store(hn::InterleaveUpper(d, ac_high, be_high), d, to + 3 * to_step);
}

/// Transposes a group's [inputs][16] to [16][padded inputs]; padding is zero.
template <class Element>
void transpose_group(const Element* input, int inputs, float* output) {
  const std::size_t row = padded(inputs);
  const int whole = inputs / 4 * 4;
  for (int k = 0; k < whole; k += 4) {
    HWY_ALIGN float values[4 * lanes];
    LOCKSTEP_UNROLL for (int i = 0; i < 4 * lanes; i += width) {
      store(load(input + pixels(k) + i), values + i);
    }
    LOCKSTEP_UNROLL for (int lane = 0; lane < lanes; lane += 4) {
      transpose_block(values + lane, lanes, output + lane * row + k, row);
    }
  }
  for (int lane = 0; lane < lanes; ++lane) {
    for (int k = whole; k < static_cast<int>(row); ++k) {
      output[lane * row + k] = k < inputs ? to_float(input[pixels(k) + lane]) : 0.0F;
    }
  }
}

/// Computes grad_weight for OB outputs x VECTORS vectors of inputs; samples ascending.
template <int OB, int VECTORS, class Element>
HWY_NOINLINE void weights_tile(const LinearTask<Element>& task, int output, int column) {
  const std::size_t row = padded(task.inputs);
  Vector sum[OB][VECTORS];
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) { sum[o][v] = hn::Zero(floats); }
  }
  const float* input = task.scratch + column;
  for (int n = 0; n < task.samples; ++n, input += row) {
    const Element* grad =
        task.grad_output + pixels(static_cast<std::size_t>(n / lanes) * task.outputs + output) + n % lanes;
    Vector x[VECTORS];
    LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) { x[v] = hn::Load(floats, input + v * width); }
    LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
      const Vector factor = hn::Set(floats, to_float(grad[pixels(o)]));
      LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) { sum[o][v] = hn::MulAdd(x[v], factor, sum[o][v]); }
    }
  }
  if (column + VECTORS * width <= task.inputs) {
    LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
      float* target = task.grad_weight + static_cast<std::size_t>(output + o) * task.inputs + column;
      LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) { hn::StoreU(sum[o][v], floats, target + v * width); }
    }
    return;
  }
  alignas(64) float rest[OB][VECTORS * width];
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) { hn::Store(sum[o][v], floats, rest[o] + v * width); }
  }
  for (int o = 0; o < OB; ++o) {
    float* target = task.grad_weight + static_cast<std::size_t>(output + o) * task.inputs + column;
    for (int k = 0; column + k < task.inputs; ++k) {
      target[k] = rest[o][k];
    }
  }
}

template <int VECTORS, class Element>
int weights_columns(const LinearTask<Element>& task, int column, int end) {
  constexpr int block = many_registers ? 4 : 3;
  for (; column + VECTORS * width <= end; column += VECTORS * width) {
    int o = 0;
    for (; o + block <= task.outputs; o += block) {
      weights_tile<block, VECTORS>(task, o, column);
    }
    for (; o < task.outputs; ++o) {
      weights_tile<1, VECTORS>(task, o, column);
    }
  }
  return column;
}

std::size_t scratch(int inputs, int samples) {
  return padded(inputs) * static_cast<std::size_t>((samples + lanes - 1) / lanes * lanes);
}

template <class Element>
void forward(const LinearTask<Element>& task) {
  multiply<false, Element>(
      {task.outputs, task.inputs, task.groups * parts, task.weight, task.bias, task.input, task.output});
}

template <class Element>
void backward_data(const LinearTask<Element>& task) {
  multiply<true, Element>({task.inputs, task.outputs, task.groups * parts, task.weight, nullptr,
                           task.grad_output, task.grad_input});
}

template <class Element>
void backward_weights(const LinearTask<Element>& task) {
  const std::size_t row = padded(task.inputs);
  for (int g = 0; g < task.groups; ++g) {
    transpose_group(task.input + pixels(static_cast<std::size_t>(g) * task.inputs), task.inputs,
                    task.scratch + static_cast<std::size_t>(g) * lanes * row);
  }
  const int column = weights_columns<4>(task, 0, static_cast<int>(row));
  weights_columns<1>(task, column, static_cast<int>(row));
  for (int o = 0; o < task.outputs; ++o) {
    alignas(64) float sum[lanes] = {};
    for (int g = 0; g < task.groups; ++g) {
      const Element* grad = task.grad_output + pixels(static_cast<std::size_t>(g) * task.outputs + o);
      for (int lane = 0; lane < lanes; lane += width) {
        hn::Store(hn::Add(hn::Load(floats, sum + lane), load(grad + lane)), floats, sum + lane);
      }
    }
    if (task.grad_bias != nullptr) {
      fold_lanes(sum, 1, task.grad_bias + o);
    }
  }
}

template <class Element>
constexpr LinearFunctions<Element> linear_functions{.forward = forward<Element>,
                                                    .backward_data = backward_data<Element>,
                                                    .backward_weights = backward_weights<Element>};

}  // namespace

const LinearKernels linear_kernels{linear_functions<float>, linear_functions<Bfloat16>, scratch};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
