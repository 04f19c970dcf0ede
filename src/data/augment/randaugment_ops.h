#pragma once

#include <cstdint>
#include <vector>

#include "data/augment/pixels.h"

namespace lockstep {

// Operations of RandAugment on uint8 pixels, as in torchvision. They use fixed-point numbers with 16
// fractional bits, so results are bit-identical on every machine. `scratch` is overwritten.

/// Map of output pixel (x, y) to input pixel (a x + b y + c, d x + e y + f), rounded down; pixel centres are
/// at + 1/2.
struct AffineMap {
  double a = 1.0, b = 0.0, c = 0.0;
  double d = 0.0, e = 1.0, f = 0.0;
};
/// Applies the map; pixels from outside the image are black.
void affine(Planes image, const AffineMap& map, std::vector<std::uint8_t>& scratch);
/// Inverse of a rotation by `degrees` around the centre of an image.
AffineMap rotation(double degrees, Shape shape);

// These set each value to other + factor (value - other), clamped to [0, 255].
void adjust_brightness(Planes image, double factor);  ///< other: black
void adjust_color(Planes image, double factor);       ///< other: the pixel's grey
void adjust_contrast(Planes image, double factor);    ///< other: the mean grey of the image
/// other: the image smoothed by [1 1 1; 1 5 1; 1 1 1] / 13; edge pixels are unchanged.
void adjust_sharpness(Planes image, double factor, std::vector<std::uint8_t>& scratch);

/// Keeps the `bits` highest bits.
void posterize(Planes image, int bits);
/// Inverts values of at least `threshold`.
void solarize(Planes image, double threshold);
/// Stretches each channel's values to [0, 255].
void autocontrast(Planes image);
/// Equalises each channel's histogram, like Pillow's ImageOps.equalize.
void equalize(Planes image);

}  // namespace lockstep
