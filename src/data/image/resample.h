#pragma once

#include <cstdint>
#include <vector>

#include "data/image/image.h"

namespace lockstep {

/// Resizes parts of images, bilinearly and with antialiasing like Pillow and PyTorch: output pixel x of n
/// over a part [a, a + w) is the mean of the part's pixels i with weights proportional to max(0, 1 - |i + 1/2
/// - c| / s), where c = a + (x + 1/2) w / n and s = max(1, w / n). Rows are combined first, then columns.
/// Weights are rounded to 14 fractional bits (the largest one is adjusted so that they sum to 1), values
/// between the two passes to 6. Integer sums are bit-identical in any order and on any processor. Not
/// thread-safe: each executor needs one.
class Resampler {
 public:
  /// Writes `box` of `source` as width x height pixels, [channel][row][column].
  void resize(const Image& source, const Box& box, int width, int height, std::uint8_t* destination);

 private:
  /// Weights of one axis: for each output position, `taps` weights of the inputs from first[position] on,
  /// then zeros up to `stride`, an even number.
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
  std::vector<std::int16_t> row_;  ///< an output row before its columns are resized
};

}  // namespace lockstep
