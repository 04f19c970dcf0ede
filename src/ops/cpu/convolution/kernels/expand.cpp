#include "ops/cpu/convolution/kernels/direct_conv.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Expands one row of windows. WINDOW 0: known only at run time.
template <int WINDOW, bool RELU>
void expand_row(const Expand& task, const float* grad, const std::uint16_t* masks, float* output) {
  const int window = WINDOW != 0 ? WINDOW : task.epilogue.window;
  const Vector scale = hn::Set(floats, 1.0F / static_cast<float>(window * window));
  for (int q = 0; q < task.columns; q += window, grad += lanes) {
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
      const Vector value = hn::Mul(hn::Load(floats, grad + part * width), scale);
      for (int i = 0; i < window; ++i) {
        for (int j = 0; j < window; ++j) {
          const std::size_t pixel = static_cast<std::size_t>(i) * task.columns + q + j;
          const Vector masked = RELU ? hn::IfThenElseZero(load_mask(part, masks + pixel), value) : value;
          hn::Store(masked, floats, output + pixels(pixel) + part * width);
        }
      }
    }
  }
}

template <int WINDOW, bool RELU>
void expand_all(const Expand& task) {
  const int window = task.epilogue.window;
  const std::size_t row = static_cast<std::size_t>(task.columns) * window;
  for (int c = 0; c < task.channels; ++c) {
    for (int r = 0; r < task.rows / window; ++r) {
      expand_row<WINDOW, RELU>(task, task.grad + task.grad_plane * c + pixels(task.columns / window) * r,
                               RELU ? task.masks + task.mask_plane * c + row * r : nullptr,
                               task.output + task.output_plane * c + pixels(row) * r);
    }
  }
}

template <bool RELU>
void expand_window(const Expand& task) {
  task.epilogue.window == 2 ? expand_all<2, RELU>(task) : expand_all<0, RELU>(task);
}

}  // namespace

void expand(const Expand& task) {
  task.epilogue.relu ? expand_window<true>(task) : expand_window<false>(task);
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
