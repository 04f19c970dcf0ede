#pragma once

#include <cstddef>
#include <vector>

#include "lockstep/shape.h"

namespace lockstep::test {

/// Doubles in PyTorch's order: [sample][channel][row][column].
struct Tensor {
  Tensor() = default;
  Tensor(int number, Shape of_one) : samples(number), shape(of_one), values(shape.size() * number) {}

  double& at(int n, int c, int h, int w) { return values[index(n, c, h, w)]; }
  double at(int n, int c, int h, int w) const { return values[index(n, c, h, w)]; }
  std::size_t index(int n, int c, int h, int w) const {
    return ((static_cast<std::size_t>(n) * shape.channels + c) * shape.height + h) * shape.width + w;
  }

  int samples = 0;
  Shape shape;
  std::vector<double> values;
};

}  // namespace lockstep::test
