#pragma once

#include <cstddef>
#include <cstdint>

/// Inner loops of the Resampler, compiled for the lowest instruction set that lockstep supports. They use
/// integers only, so results are bit-identical on every machine.
namespace lockstep::kernels {

constexpr int weight_bits = 14;  ///< fractional bits of weights; the weights of a pixel add up to 1
constexpr int middle_bits = 6;   ///< fractional bits of values between the two passes
/// Number of values after the end of a row that resize_colour_row reads but does not use.
constexpr std::size_t read_ahead = 11;

/// output[i] = sum over k of weights[k] * input[k * count + i].
void add_rows(const std::uint8_t* input, std::size_t count, const std::int16_t* weights, int taps,
              std::int16_t* output);

/// For each output column, `taps` (an even number) weights of the input columns from first[column] on.
struct ColumnWeights {
  int taps;
  const int* first;
  const std::int16_t* weights;
};
/// Resizes a row [column][3 channels] to three rows of pixels, `plane` bytes apart.
void resize_colour_row(const std::int16_t* row, const ColumnWeights& columns, int width, std::uint8_t* output,
                       std::size_t plane);
/// Resizes a row of one channel.
void resize_grey_row(const std::int16_t* row, const ColumnWeights& columns, int width, std::uint8_t* output);

}  // namespace lockstep::kernels
