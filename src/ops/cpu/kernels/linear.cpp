#include "ops/cpu/kernels/linear.h"
#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Register block: rows of the result x vectors of images.
constexpr int max_rows = many_registers ? 8 : 5;
constexpr int max_vectors = 2;

/// Number of columns of weights, or of transposed inputs, that are packed side by side.
constexpr int panel_columns = 64;

/// output[i] = bias[i] + sum over t ascending of weight(i, t) * input[t], for the images of all groups.
/// TRANSPOSED: weights of the same term are adjacent; otherwise weights of the same row are.
template <class Element>
struct Product {
  int rows;
  int terms;
  int vectors;  ///< total over all groups
  const float* weight;
  std::size_t weight_step;  ///< stride of rows; stride of terms if TRANSPOSED
  const float* bias;        ///< null: zeros
  const Element* input;
  Element* output;
  int outputs;  ///< number of output rows in memory, of which `rows` are computed
};

HWY_INLINE std::size_t vector_offset(int vector, int per_group) {
  return pixels(static_cast<std::size_t>(vector / parts) * per_group) + vector % parts * width;
}

template <bool TRANSPOSED, int ROWS, int VECTORS, class Element>
HWY_NOINLINE void tile(const Product<Element>& task, int row, int vector) {
  const std::size_t row_step = TRANSPOSED ? 1 : task.weight_step;
  const std::size_t term_step = TRANSPOSED ? task.weight_step : 1;
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
    Element* output = task.output + vector_offset(vector + v, task.outputs) + pixels(row);
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

std::size_t padded(int count, int unit) { return static_cast<std::size_t>((count + unit - 1) / unit * unit); }

/// Copies `columns` weights of each row to rows of panel_columns. Prefetches later rows explicitly: rows are
/// pages apart, and the processor does not prefetch across pages.
void pack_panel(const float* weight, std::size_t row_step, int rows, int columns, float* packed) {
  constexpr int rows_ahead = 8;
  for (int row = 0; row < rows; ++row, weight += row_step, packed += panel_columns) {
    if (row + rows_ahead < rows) {
      const float* ahead = weight + rows_ahead * row_step;
      for (int i = 0; i < columns; i += lanes) __builtin_prefetch(ahead + i);
    }
    int i = 0;
    for (; i + width <= columns; i += width) hn::Store(hn::LoadU(floats, weight + i), floats, packed + i);
    for (; i < columns; ++i) packed[i] = weight[i];
  }
}

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

/// Transposes a group's [inputs][16] to [panel][16][panel_columns], with panels `step` floats apart. Pads the
/// inputs with zeros to a multiple of 16.
template <class Element>
void transpose_group(const Element* input, int inputs, std::size_t step, float* output) {
  const int end = static_cast<int>(padded(inputs, lanes));
  const auto at = [&](int k) HWY_ATTR { return output + k / panel_columns * step + k % panel_columns; };
  const int whole = inputs / 4 * 4;
  for (int k = 0; k < whole; k += 4) {
    HWY_ALIGN float values[4 * lanes];
    LOCKSTEP_UNROLL for (int i = 0; i < 4 * lanes; i += width) {
      store(load(input + pixels(k) + i), values + i);
    }
    LOCKSTEP_UNROLL for (int lane = 0; lane < lanes; lane += 4) {
      transpose_block(values + lane, lanes, at(k) + lane * panel_columns, panel_columns);
    }
  }
  for (int lane = 0; lane < lanes; ++lane) {
    for (int k = whole; k < end; ++k) {
      at(k)[lane * panel_columns] = k < inputs ? to_float(input[pixels(k) + lane]) : 0.0F;
    }
  }
}

/// Number of floats in a panel of transposed inputs.
std::size_t panel_floats(int samples) { return padded(samples, lanes) * panel_columns; }

/// Computes grad_weight for OB outputs x VECTORS vectors of inputs; samples ascending.
template <int OB, int VECTORS, class Element>
HWY_NOINLINE void weights_tile(const LinearTask<Element>& task, int output, int column) {
  Vector sum[OB][VECTORS];
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    LOCKSTEP_UNROLL for (int v = 0; v < VECTORS; ++v) { sum[o][v] = hn::Zero(floats); }
  }
  const float* input =
      task.scratch + column / panel_columns * panel_floats(task.samples) + column % panel_columns;
  for (int n = 0; n < task.samples; ++n, input += panel_columns) {
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

/// Computes grad_weight for OB outputs and inputs [column, end).
template <int OB, class Element>
void weights_rows(const LinearTask<Element>& task, int output, int column, int end) {
  for (; column + 4 * width <= end; column += 4 * width) weights_tile<OB, 4>(task, output, column);
  for (; column < end; column += width) weights_tile<OB, 1>(task, output, column);
}

/// Computes grad_weight for some columns at a time, so that their transposed inputs stay in the cache. Each
/// row of weights is written in order, a page at a time.
template <class Element>
void write_weights(const LinearTask<Element>& task) {
  constexpr int columns_at_once = 1024;
  constexpr int block = many_registers ? 4 : 3;
  const auto columns = static_cast<int>(padded(task.inputs, lanes));
  for (int column = 0; column < columns; column += columns_at_once) {
    const int end = smaller(column + columns_at_once, columns);
    int o = 0;
    for (; o + block <= task.outputs; o += block) weights_rows<block>(task, o, column, end);
    for (; o < task.outputs; ++o) weights_rows<1>(task, o, column, end);
  }
}

/// Whether to pack panels of weights; not worthwhile if all weights fit into the second-level cache.
bool packs_panels(int inputs, int outputs) { return std::int64_t{inputs} * outputs > 1 << 16; }

std::size_t scratch(int inputs, int outputs, int samples) {
  const std::size_t weights =
      packs_panels(inputs, outputs) ? static_cast<std::size_t>(outputs) * panel_columns : 0;
  const std::size_t transposed = padded(inputs, panel_columns) / panel_columns * panel_floats(samples);
  return weights > transposed ? weights : transposed;
}

template <class Element>
void forward(const LinearTask<Element>& task) {
  multiply<false, Element>({.rows = task.outputs,
                            .terms = task.inputs,
                            .vectors = task.groups * parts,
                            .weight = task.weight,
                            .weight_step = static_cast<std::size_t>(task.inputs),
                            .bias = task.bias,
                            .input = task.input,
                            .output = task.output,
                            .outputs = task.outputs});
}

template <class Element>
void backward_data(const LinearTask<Element>& task) {
  const bool packs = packs_panels(task.inputs, task.outputs);
  const int at_once = packs ? panel_columns : task.inputs;
  for (int first = 0; first < task.inputs; first += at_once) {
    const int rows = smaller(at_once, task.inputs - first);
    if (packs) pack_panel(task.weight + first, task.inputs, task.outputs, rows, task.scratch);
    multiply<true, Element>({.rows = rows,
                             .terms = task.outputs,
                             .vectors = task.groups * parts,
                             .weight = packs ? task.scratch : task.weight,
                             .weight_step = static_cast<std::size_t>(at_once),
                             .bias = nullptr,
                             .input = task.grad_output,
                             .output = task.grad_input + pixels(first),
                             .outputs = task.inputs});
  }
}

template <class Element>
void backward_weights(const LinearTask<Element>& task) {
  for (int g = 0; g < task.groups; ++g) {
    transpose_group(task.input + pixels(static_cast<std::size_t>(g) * task.inputs), task.inputs,
                    panel_floats(task.samples),
                    task.scratch + static_cast<std::size_t>(g) * lanes * panel_columns);
  }
  write_weights(task);
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
