#include <cmath>

#include "core/bfloat16.h"
#include "ops/op_inputs.h"

namespace lockstep::test {
namespace {

/// Sum that adds products in steps of 32, as bf16 kernels do: even and odd ones apart.
class Sum {
 public:
  explicit Sum(double start = 0) : sum_(static_cast<float>(start)) {}

  void add(double a, double b) {
    float& chain = count_ % 2 == 0 ? even_ : odd_;
    chain = std::fma(static_cast<float>(a), static_cast<float>(b), chain);
    if (++count_ == 32) end_step();
  }
  void end_step() {
    sum_ += even_ + odd_;
    even_ = odd_ = 0;
    count_ = 0;
  }
  float value() const { return sum_; }
  double stored() const { return static_cast<double>(to_float(from_float<Bfloat16>(sum_))); }

 private:
  float sum_;
  float even_ = 0, odd_ = 0;
  int count_ = 0;
};

/// Reference for one convolution: its operands and the results computed from them.
class Products {
 public:
  Products(const OpCase& op_case, const OpInputs& values)
      : options_(std::get<Conv2d>(op_case.node.operation)),
        input_(values.inputs[0]),
        grad_(values.grad_output),
        weights_(values.parameters[0]),
        bias_(values.parameters[1]) {}

  double output(int n, int o, int h, int w) const {
    Sum sum(bias_.empty() ? 0 : bias_[static_cast<std::size_t>(o)]);
    for (int tap = 0; tap < taps(); ++tap) {
      for (int c = 0; c < input_.shape.channels; ++c) {
        sum.add(weight(o, c, tap),
                input(n, c, source(h, tap / options_.kernel), source(w, tap % options_.kernel)));
      }
    }
    sum.end_step();
    return sum.stored();
  }

  double grad_input(int n, int c, int h, int w) const {
    Sum sum;
    for (int tap = 0; tap < taps(); ++tap) {
      const int row = h + options_.padding - tap / options_.kernel * options_.dilation;
      const int column = w + options_.padding - tap % options_.kernel * options_.dilation;
      if (row % options_.stride != 0 || column % options_.stride != 0) continue;
      for (int o = 0; o < grad_.shape.channels; ++o) {
        sum.add(weight(o, c, tap), element(grad_, n, o, row / options_.stride, column / options_.stride));
      }
    }
    sum.end_step();
    return sum.stored();
  }

  double grad_weight(int o, int c, int tap) const {
    Sum sum;
    for (int group = 0; group < grad_.samples; group += 16) {
      for (int pixel = 0; pixel < grad_.shape.height * grad_.shape.width; ++pixel) {
        const int h = pixel / grad_.shape.width, w = pixel % grad_.shape.width;
        for (int n = group; n < group + 16; ++n) {
          sum.add(element(grad_, n, o, h, w),
                  input(n, c, source(h, tap / options_.kernel), source(w, tap % options_.kernel)));
        }
      }
      sum.end_step();
    }
    return static_cast<double>(sum.value());
  }

  int taps() const { return options_.kernel * options_.kernel; }

 private:
  int source(int target, int tap) const {
    return target * options_.stride + tap * options_.dilation - options_.padding;
  }
  static double element(const Tensor& tensor, int n, int c, int h, int w) {
    const bool inside =
        n < tensor.samples && h >= 0 && h < tensor.shape.height && w >= 0 && w < tensor.shape.width;
    return inside ? tensor.at(n, c, h, w) : 0;
  }
  double input(int n, int c, int h, int w) const { return element(input_, n, c, h, w); }
  double weight(int o, int c, int tap) const {
    return weights_[static_cast<std::size_t>((o * input_.shape.channels + c) * taps() + tap)];
  }

  const Conv2d& options_;
  const Tensor& input_;
  const Tensor& grad_;
  const std::vector<double>& weights_;
  const std::vector<double>& bias_;
};

}  // namespace

OpValues bf16_product_values(const OpCase& op_case, const OpInputs& values) {
  const Products products(op_case, values);
  const int samples = values.inputs[0].samples;
  OpValues results{.output = Tensor(samples, op_case.node.shape)};
  for_each_index(results.output, [&](int n, int c, int h, int w) {
    results.output.at(n, c, h, w) = products.output(n, c, h, w);
  });
  if (op_case.input_gradient) {
    Tensor& gradient = results.grad_inputs[0] = Tensor(samples, op_case.inputs[0]);
    for_each_index(gradient, [&](int n, int c, int h, int w) {
      gradient.at(n, c, h, w) = products.grad_input(n, c, h, w);
    });
  }
  for (int o = 0; o < op_case.node.shape.channels; ++o) {
    for (int c = 0; c < op_case.inputs[0].channels; ++c) {
      for (int tap = 0; tap < products.taps(); ++tap) {
        results.grad_parameters[0].push_back(products.grad_weight(o, c, tap));
      }
    }
  }
  return results;
}

}  // namespace lockstep::test
