#include "data/image/resample.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr int weight_bits = 14;
constexpr int middle_bits = 6;

/// Rounds `count` weights of the given sum to integers that add up to 1 in fixed point.
void quantize(const double* exact, double sum, int count, std::int16_t* weights) {
  int missing = 1 << weight_bits;
  int largest = 0;
  for (int k = 0; k < count; ++k) {
    const int weight = static_cast<int>(std::floor(exact[k] / sum * (1 << weight_bits) + 0.5));
    weights[k] = static_cast<std::int16_t>(weight);
    missing -= weight;
    largest = exact[k] > exact[largest] ? k : largest;
  }
  weights[largest] = static_cast<std::int16_t>(weights[largest] + missing);
}

template <int channels>
void resize_columns(const std::int16_t* row, const int* first, const std::int16_t* weights, int taps,
                    int width, std::uint8_t* destination, std::size_t plane) {
  constexpr int shift = weight_bits + middle_bits;
  for (int x = 0; x < width; ++x, weights += taps) {
    const std::int16_t* value = row + static_cast<std::ptrdiff_t>(first[x]) * channels;
    std::int32_t sums[channels];
    for (int c = 0; c < channels; ++c) sums[c] = 1 << (shift - 1);
    for (int k = 0; k < taps; ++k, value += channels) {
      for (int c = 0; c < channels; ++c) sums[c] += weights[k] * value[c];
    }
    for (int c = 0; c < channels; ++c) {
      destination[static_cast<std::size_t>(c) * plane + static_cast<std::size_t>(x)] =
          static_cast<std::uint8_t>(sums[c] >> shift);
    }
  }
}

}  // namespace

void Resampler::plan(double begin, double extent, int inputs, int outputs, Axis& axis) {
  const double step = extent / outputs;
  const double support = std::max(1.0, step);
  const int least = std::clamp(static_cast<int>(std::floor(begin)), 0, inputs - 1);
  const int most = std::clamp(static_cast<int>(std::ceil(begin + extent)), least + 1, inputs);
  axis.taps = std::min(static_cast<int>(std::ceil(2.0 * support)), most - least);
  const auto count = static_cast<std::size_t>(outputs);
  const auto taps = static_cast<std::size_t>(axis.taps);
  axis.first.resize(std::max(axis.first.size(), count));
  axis.weights.resize(std::max(axis.weights.size(), count * taps));
  axis.exact.resize(std::max(axis.exact.size(), taps));
  for (std::size_t x = 0; x < count; ++x) {
    const double center = begin + (static_cast<double>(x) + 0.5) * step;
    const int first =
        std::clamp(static_cast<int>(std::floor(center - support + 0.5)), least, most - axis.taps);
    double sum = 0.0;
    for (int k = 0; k < axis.taps; ++k) {
      const double weight = std::max(0.0, 1.0 - std::fabs(first + k + 0.5 - center) / support);
      axis.exact[static_cast<std::size_t>(k)] = weight;
      sum += weight;
    }
    axis.first[x] = first;
    if (sum <= 0.0) {  // only where rounding leaves nothing: the nearest pixel
      axis.exact[0] = sum = 1.0;
    }
    quantize(axis.exact.data(), sum, axis.taps, axis.weights.data() + x * taps);
  }
}

void Resampler::resize_row(const Image& source, int row) {
  const std::size_t count =
      static_cast<std::size_t>(source.width) * static_cast<std::size_t>(source.channels);
  const std::int16_t* weights = rows_.weights.data() + static_cast<std::ptrdiff_t>(row) * rows_.taps;
  const std::uint8_t* input =
      source.pixels.data() + static_cast<std::size_t>(rows_.first[static_cast<std::size_t>(row)]) * count;
  std::int32_t* sums = sums_.data();
  constexpr int shift = weight_bits - middle_bits;
  std::fill_n(sums, count, 1 << (shift - 1));
  for (int k = 0; k < rows_.taps; ++k, input += count) {
    const std::int16_t weight = weights[k];
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += static_cast<std::int32_t>(weight) * static_cast<std::int16_t>(input[i]);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    row_[i] = static_cast<std::int16_t>(sums[i] >> shift);
  }
}

void Resampler::resize(const Image& source, const Box& box, int width, int height,
                       std::uint8_t* destination) {
  plan(box.top, box.height, source.height, height, rows_);
  plan(box.left, box.width, source.width, width, columns_);
  const std::size_t count =
      static_cast<std::size_t>(source.width) * static_cast<std::size_t>(source.channels);
  sums_.resize(std::max(sums_.size(), count));
  row_.resize(std::max(row_.size(), count));
  const std::size_t plane = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  for (int row = 0; row < height; ++row, destination += width) {
    resize_row(source, row);
    const auto columns = source.channels == 3 ? resize_columns<3> : resize_columns<1>;
    columns(row_.data(), columns_.first.data(), columns_.weights.data(), columns_.taps, width, destination,
            plane);
  }
}

}  // namespace lockstep
