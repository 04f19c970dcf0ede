#pragma once

#include <cstdint>
#include <vector>

#include "data/augment/augmentation.h"

namespace lockstep {

/// The operations of RandAugment on uint8 pixels, as torchvision's: integers only, 16 bits after the point,
/// so the same bits everywhere. `scratch` is overwritten.

/// Output pixel (x, y) is input pixel (a x + b y + c, d x + e y + f) rounded down, coordinates counted from
/// pixel centres at + 1/2; black outside.
struct AffineMap {
  double a = 1.0, b = 0.0, c = 0.0;
  double d = 0.0, e = 1.0, f = 0.0;
};
void affine(Planes image, const AffineMap& map, std::vector<std::uint8_t>& scratch);
/// Inverse of a turn by `degrees` around the middle of an image.
AffineMap rotation(double degrees, Shape shape);

/// value = other + factor (value - other), limited to a pixel's range, where other is: black; the pixel's
/// grey; the mean grey of the image; the image smoothed by [1 1 1; 1 5 1; 1 1 1] / 13 but at its edges.
void adjust_brightness(Planes image, double factor);
void adjust_color(Planes image, double factor);
void adjust_contrast(Planes image, double factor);
void adjust_sharpness(Planes image, double factor, std::vector<std::uint8_t>& scratch);

/// Keeps the `bits` highest bits.
void posterize(Planes image, int bits);
/// Inverts values from `threshold` on.
void solarize(Planes image, double threshold);
/// Stretches each channel's values to 0 .. 255.
void autocontrast(Planes image);
/// Gives each channel an even histogram (Pillow's ImageOps.equalize).
void equalize(Planes image);

}  // namespace lockstep
