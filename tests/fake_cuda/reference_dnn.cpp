// Convolutions in plain loops, in place of cuDNN.
#include "ops/cuda/dnn/cudnn.h"

#include <cstring>

#include "device/cuda/native/check.h"
#include "device/kernel_times.h"
#include "fake_cuda/grid.h"
#include "ops/cuda/dnn/plan_file.h"
#include "ops/cuda/dnn/problems.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

using Doubles = std::vector<double>;
using Tensors = std::span<void* const>;

std::size_t size(int a, int b = 1, int c = 1, int d = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c) *
         static_cast<std::size_t>(d);
}

Doubles read(Type type, const void* data, std::size_t count) {
  Doubles result(count);
  with_stored(type, [&]<class T>(T /*stored*/) {
    const auto* const values = static_cast<const T*>(data);
    for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<double>(to_float(values[i]));
  });
  return result;
}

void write(Type type, const Doubles& values, void* data) {
  with_stored(type, [&]<class T>(T /*stored*/) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      static_cast<T*>(data)[i] = from_float<T>(static_cast<float>(values[i]));
    }
  });
}

/// max(value, 0). NaN stays NaN, as in the kernels of this project.
double positive(double value) { return value <= 0 ? 0 : value; }

std::size_t inputs_of(const ConvProblem& p) {
  return size(p.samples, p.in_height, p.in_width, p.in_channels);
}
std::size_t outputs_of(const ConvProblem& p) {
  return size(p.samples, p.out_height, p.out_width, p.out_channels);
}
std::size_t taps_of(const ConvProblem& p) { return size(p.kernel, p.kernel); }
std::size_t group_inputs(const ConvProblem& p) { return size(p.in_channels / p.groups); }
std::size_t group_outputs(const ConvProblem& p) { return size(p.out_channels / p.groups); }
std::size_t weights_of(const ConvProblem& p) { return size(p.out_channels) * taps_of(p) * group_inputs(p); }

/// Calls visit(output, input, tap, group) for every product of an input pixel with a tap. `output`, `input`:
/// index of the group's first channel in the pixel.
template <class Visit>
void for_each_meeting(const ConvProblem& p, const Visit& visit) {
  for (int n = 0; n < p.samples; ++n) {
    for (int h = 0; h < p.out_height; ++h) {
      for (int w = 0; w < p.out_width; ++w) {
        const std::size_t output = ((size(n, p.out_height) + size(h)) * size(p.out_width) + size(w));
        for (int tap = 0; tap < p.kernel * p.kernel; ++tap) {
          const int row = h * p.stride + tap / p.kernel * p.dilation - p.padding;
          const int column = w * p.stride + tap % p.kernel * p.dilation - p.padding;
          if (row < 0 || row >= p.in_height || column < 0 || column >= p.in_width) continue;
          const std::size_t input = ((size(n, p.in_height) + size(row)) * size(p.in_width) + size(column));
          for (std::size_t g = 0; g < size(p.groups); ++g) {
            visit(output * size(p.out_channels) + g * group_outputs(p),
                  input * size(p.in_channels) + g * group_inputs(p), size(tap), g);
          }
        }
      }
    }
  }
}

/// Transposes [out channel][tap][in channel of the group] to [tap][in channel of the group][out channel].
Doubles transposed(const ConvProblem& p, const Doubles& weight) {
  const std::size_t inner = taps_of(p) * group_inputs(p);
  Doubles result(weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    result[i % inner * size(p.out_channels) + i / inner] = weight[i];
  }
  return result;
}

Doubles convolve(const ConvProblem& p, const Doubles& input, const Doubles& weight) {
  const Doubles by_tap = transposed(p, weight);
  Doubles output(outputs_of(p), 0.0);
  for_each_meeting(p, [&](std::size_t o, std::size_t i, std::size_t tap, std::size_t group) {
    for (std::size_t c = 0; c < group_inputs(p); ++c) {
      const double x = input[i + c];
      if (x == 0) continue;  // mostly padding
      const double* w =
          &by_tap[(tap * group_inputs(p) + c) * size(p.out_channels) + group * group_outputs(p)];
      for (std::size_t k = 0; k < group_outputs(p); ++k) output[o + k] += x * w[k];
    }
  });
  return output;
}

void conv_forward(const ConvProblem& p, bool has_bias, bool relu, Tensors tensors) {
  Doubles output =
      convolve(p, read(p.type, tensors[0], inputs_of(p)), read(p.type, tensors[1], weights_of(p)));
  const Doubles bias = has_bias ? read(p.type, tensors[2], size(p.out_channels)) : Doubles{};
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (has_bias) output[i] += bias[i % bias.size()];
    if (relu) output[i] = positive(output[i]);
  }
  write(p.type, output, tensors.back());
}

void conv_backward_data(const ConvProblem& p, Tensors tensors) {
  const Doubles grad = read(p.type, tensors[0], outputs_of(p));
  const Doubles weight = read(p.type, tensors[1], weights_of(p));
  Doubles grad_input(inputs_of(p), 0.0);
  for_each_meeting(p, [&](std::size_t o, std::size_t i, std::size_t tap, std::size_t group) {
    for (std::size_t k = 0; k < group_outputs(p); ++k) {
      const double y = grad[o + k];
      if (y == 0) continue;
      const double* w = &weight[((group * group_outputs(p) + k) * taps_of(p) + tap) * group_inputs(p)];
      for (std::size_t c = 0; c < group_inputs(p); ++c) grad_input[i + c] += y * w[c];
    }
  });
  write(p.type, grad_input, tensors[2]);
}

void conv_backward_weights(const ConvProblem& p, Tensors tensors) {
  const Doubles input = read(p.type, tensors[0], inputs_of(p));
  const Doubles grad = read(p.type, tensors[1], outputs_of(p));
  Doubles grad_weight(weights_of(p), 0.0);
  for_each_meeting(p, [&](std::size_t o, std::size_t i, std::size_t tap, std::size_t group) {
    for (std::size_t k = 0; k < group_outputs(p); ++k) {
      const double y = grad[o + k];
      if (y == 0) continue;
      double* w = &grad_weight[((group * group_outputs(p) + k) * taps_of(p) + tap) * group_inputs(p)];
      for (std::size_t c = 0; c < group_inputs(p); ++c) w[c] += y * input[i + c];
    }
  });
  write(p.type, grad_weight, tensors[2]);
}

/// Sums in double precision and rounds once to the type. tf32 multiplies like fp32.
void run_in_loops(const ConvTask& task, Tensors tensors) {
  switch (task.direction) {
    case ConvDirection::forward:
      return conv_forward(task.problem, task.bias, task.relu, tensors);
    case ConvDirection::backward_data:
      return conv_backward_data(task.problem, tensors);
    case ConvDirection::backward_weights:
      return conv_backward_weights(task.problem, tensors);
  }
}

class ReferenceDnn final : public Dnn {
 public:
  /// Operations fill their workspace with garbage, as a library may. Fewer samples need a larger workspace,
  /// which may also happen with a library.
  DnnOperation plan(const ConvTask& task) override {
    used_.set(describe(task), {"plain loops"});
    const std::size_t bytes = (std::size_t{1} << 16) / size(task.problem.samples);
    return {
        .description = "reference",
        .workspace_bytes = bytes,
        .run = [task, bytes, name = describe(task) + ", plain loops"](StreamHandle stream, Tensors tensors,
                                                                      void* workspace) {
          timed_launch(stream, name.c_str(), [&] {
            const auto work = [task, bytes, given = std::vector(tensors.begin(), tensors.end()), workspace] {
              std::memset(workspace, 0x5a, bytes);
              run_in_loops(task, given);
            };
            check_cuda(fake_cuda::launch(stream, name.c_str(), std::as_bytes(tensors), work), "convolution");
          });
        }};
  }

  std::string engines() const override { return used_.text(); }

 private:
  PlanFile used_{{}, "no GPU"};
};

}  // namespace

std::unique_ptr<Dnn> make_cudnn(const CudnnOptions& /*options*/) { return std::make_unique<ReferenceDnn>(); }

}  // namespace lockstep::cuda
