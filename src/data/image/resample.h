#pragma once

#include <cstdint>
#include <vector>

#include "data/image/image.h"

namespace lockstep {

/// Resizes parts of images, bilinear and antialiased as Pillow's and PyTorch's: pixel x of n over a part
/// [a, a + w) is the mean of the pixels i, weighted with max(0, 1 - |i + 1/2 - c| / s) / (their sum), where
/// c = a + (x + 1/2) w / n and s = max(1, w / n); i is limited to the part. Columns and rows alike, rows
/// first. Weights are rounded to 14 bits (the largest takes what is missing to 1), what is between the two
/// passes to 6 bits after the point: integer sums, so the same bits in any order and on any processor. Needs
/// an instruction set that the CPU plans need too. One per executor.
class Resampler {
 public:
  /// Writes `box` of `source` as width x height pixels, [channel][row][column].
  void resize(const Image& source, const Box& box, int width, int height, std::uint8_t* destination);

 private:
  /// Weights of one axis: `taps` for each output position, of the inputs from first[position] on. Then zeros
  /// up to `stride`, an even number.
  struct Axis {
    int taps = 0;
    int stride = 0;
    std::vector<int> first;
    std::vector<std::int16_t> weights;
    std::vector<double> exact;
  };
  static void plan(double begin, double extent, int inputs, int outputs, Axis& axis);

  Axis rows_;
  Axis columns_;
  std::vector<std::int16_t> row_;  ///< one output row before its columns are resized
};

}  // namespace lockstep
