#include "data/image/resample.h"

#include <algorithm>
#include <cmath>

#include "data/image/kernels/resample_rows.h"

namespace lockstep {
namespace {

/// Rounds `count` weights with the given sum to fixed-point numbers that add up to 1.
void quantize(const double* exact, double sum, int count, std::int16_t* weights) {
  int missing = 1 << kernels::weight_bits;
  int largest = 0;
  for (int k = 0; k < count; ++k) {
    const double above = exact[k] / sum * (1 << kernels::weight_bits) + 0.5;  // none is negative
    const int weight = static_cast<int>(above);
    weights[k] = static_cast<std::int16_t>(weight);
    missing -= weight;
    largest = exact[k] > exact[largest] ? k : largest;
  }
  weights[largest] = static_cast<std::int16_t>(weights[largest] + missing);
}

}  // namespace

void Resampler::plan(double begin, double extent, int inputs, int outputs, Axis& axis) {
  const double step = extent / outputs;
  const double support = std::max(1.0, step);
  const int min = std::clamp(static_cast<int>(std::floor(begin)), 0, inputs - 1);
  const int max = std::clamp(static_cast<int>(std::ceil(begin + extent)), min + 1, inputs);
  axis.taps = std::min(static_cast<int>(std::ceil(2.0 * support)), max - min);
  const auto count = static_cast<std::size_t>(outputs);
  axis.stride = axis.taps + axis.taps % 2;
  const auto stride = static_cast<std::size_t>(axis.stride);
  axis.first.resize(std::max(axis.first.size(), count));
  axis.weights.resize(std::max(axis.weights.size(), count * stride));
  axis.exact.resize(std::max(axis.exact.size(), stride));
  for (std::size_t x = 0; x < count; ++x) {
    const double center = begin + (static_cast<double>(x) + 0.5) * step;
    const int first = std::clamp(static_cast<int>(std::floor(center - support + 0.5)), min, max - axis.taps);
    double sum = 0.0;
    for (int k = 0; k < axis.taps; ++k) {
      const double weight = std::max(0.0, 1.0 - std::fabs(first + k + 0.5 - center) / support);
      axis.exact[static_cast<std::size_t>(k)] = weight;
      sum += weight;
    }
    axis.first[x] = first;
    if (sum <= 0.0) {  // all weights were rounded to 0: uses the nearest pixel
      axis.exact[0] = sum = 1.0;
    }
    std::int16_t* weights = axis.weights.data() + x * stride;
    weights[stride - 1] = 0;
    quantize(axis.exact.data(), sum, axis.taps, weights);
  }
}

void Resampler::resize(const Image& source, const Box& box, int width, int height,
                       std::uint8_t* destination) {
  plan(box.top, box.height, source.height, height, rows_);
  plan(box.left, box.width, source.width, width, columns_);
  const std::size_t count =
      static_cast<std::size_t>(source.width) * static_cast<std::size_t>(source.channels);
  row_.resize(std::max(row_.size(), count + kernels::read_ahead));
  const std::size_t plane = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const kernels::ColumnWeights columns{columns_.stride, columns_.first.data(), columns_.weights.data()};
  for (std::size_t row = 0; row < static_cast<std::size_t>(height); ++row) {
    const std::uint8_t* input = source.pixels.data() + static_cast<std::size_t>(rows_.first[row]) * count;
    const std::int16_t* weights = rows_.weights.data() + row * static_cast<std::size_t>(rows_.stride);
    kernels::add_rows(input, count, weights, rows_.taps, row_.data());
    std::uint8_t* output = destination + row * static_cast<std::size_t>(width);
    if (source.channels == 3) {
      kernels::resize_colour_row(row_.data(), columns, width, output, plane);
    } else {
      kernels::resize_grey_row(row_.data(), columns, width, output);
    }
  }
}

}  // namespace lockstep
