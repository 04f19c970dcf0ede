#pragma once

#include <cstddef>
#include <cstdint>

/// Inner loops of the Resampler, compiled for the lowest of the instruction sets that the CPU plans need.
/// Integers only: the same bits on all of them.
namespace lockstep::kernels {

constexpr int weight_bits = 14;  ///< after the point; weights of a pixel add up to 1
constexpr int middle_bits = 6;   ///< after the point, of values between the two passes
/// Values that resize_colour_row reads, but does not use, after the last of a row.
constexpr std::size_t read_ahead = 11;

/// output[i] = sum over k of weights[k] * input[k * count + i].
void add_rows(const std::uint8_t* input, std::size_t count, const std::int16_t* weights, int taps,
              std::int16_t* output);

/// `taps` (an even number) weights for each output column, of the input columns from first[column] on.
struct ColumnWeights {
  int taps;
  const int* first;
  const std::int16_t* weights;
};
/// One row of [column][3 channels] values -> three rows of pixels, `plane` bytes apart.
void resize_colour_row(const std::int16_t* row, const ColumnWeights& columns, int width, std::uint8_t* output,
                       std::size_t plane);
/// The same with one channel.
void resize_grey_row(const std::int16_t* row, const ColumnWeights& columns, int width, std::uint8_t* output);

}  // namespace lockstep::kernels
