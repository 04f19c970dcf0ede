#pragma once

#include "ops/cpu/convolution/kernels/winograd.h"
#include "ops/cpu/kernels/vectors.h"

/// Winograd's minimal filtering F(4 x 4, 3 x 3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
/// Networks", 2016) with the interpolation points 0, 3/4, -3/4, 3/2, infinity and -3/2, which halve the
/// rounding errors of the usual points 0, +-1, +-2:
///   Y = A' [(G g G') * (B' d B)] A        output from filter g and input patch d
///   dg = G' [(A dY A') * (B' d B)] G      gradient of the filter
/// The one-dimensional transforms below are applied to columns, then to rows.
///
/// If the number of rows or columns is not a multiple of four, they are divided into tiles of four and three,
/// for example 7 = 4 + 3. Tiles of three, F(3, 3), omit the last point and use the same G for the other
/// points, so that all tiles share the transformed filters. The rows of the G that belongs to F(3, 3) would
/// differ by the factor point + 3/2, which is part of B' instead.
namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd {

constexpr int large = 4;       ///< output rows and columns of a large tile
constexpr int small = 3;       ///< output rows and columns of a small tile
constexpr int patch = 6;       ///< number of points; input rows and columns of a large tile
constexpr int filter = 3;      ///< rows and columns of the filter
constexpr int positions = 36;  ///< pairs of points; one product per position, tile and pair of channels

constexpr double a = 0.75;
constexpr double b = 1.5;
constexpr double a2 = a * a;
constexpr double b2 = b * b;
constexpr double scale_0 = 1 / (a2 * b2);
constexpr double scale_a = 1 / (2 * a2 * (a2 - b2));
constexpr double scale_b = 1 / (2 * b2 * (b2 - a2));

HWY_INLINE Vector times(Vector v, double factor) {
  return hn::Mul(v, hn::Set(floats, static_cast<float>(factor)));
}
/// v * factor + sum, rounded once.
HWY_INLINE Vector times_plus(Vector v, double factor, Vector sum) {
  return hn::MulAdd(v, hn::Set(floats, static_cast<float>(factor)), sum);
}

/// B': transforms input patches of tiles of SIZE outputs.
template <int SIZE>
struct InputTransform;

template <>
struct InputTransform<4> {
  static constexpr int inputs = 6;
  static constexpr int outputs = 6;
  HWY_INLINE static void apply(const Vector* d, Vector* o) {
    const Vector even_a = times_plus(d[2], -b2, d[4]);
    const Vector odd_a = times_plus(d[1], -b2, d[3]);
    const Vector even_b = times_plus(d[2], -a2, d[4]);
    const Vector odd_b = times_plus(d[1], -a2, d[3]);
    o[0] = times_plus(d[0], a2 * b2, times_plus(d[2], -(a2 + b2), d[4]));
    o[1] = times_plus(odd_a, a, even_a);
    o[2] = times_plus(odd_a, -a, even_a);
    o[3] = times_plus(odd_b, b, even_b);
    o[4] = times_plus(d[1], a2 * b2, times_plus(d[3], -(a2 + b2), d[5]));
    o[5] = times_plus(odd_b, -b, even_b);
  }
};

template <>
struct InputTransform<3> {
  static constexpr int inputs = 5;
  static constexpr int outputs = 5;
  HWY_INLINE static void apply(const Vector* d, Vector* o) {
    const Vector even_a = times_plus(d[2], -b, d[3]);
    const Vector odd_a = times_plus(d[1], -b, d[2]);
    o[0] = times_plus(d[0], a2 * b2, times_plus(d[1], -a2 * b, times_plus(d[2], -b2, times(d[3], b))));
    o[1] = times_plus(odd_a, a * (b + a), times(even_a, b + a));
    o[2] = times_plus(odd_a, -a * (b - a), times(even_a, b - a));
    o[3] = times_plus(d[1], -2 * b * a2, times(d[3], 2 * b));
    o[4] = times_plus(d[1], a2 * b, times_plus(d[2], -a2, times_plus(d[3], -b, d[4])));
  }
};

/// A': computes outputs from products.
template <int SIZE>
struct OutputTransform;

template <>
struct OutputTransform<4> {
  static constexpr int inputs = 6;
  static constexpr int outputs = 4;
  HWY_INLINE static void apply(const Vector* m, Vector* o) {
    const Vector even_a = hn::Add(m[1], m[2]);
    const Vector odd_a = hn::Sub(m[1], m[2]);
    const Vector even_b = hn::Add(m[3], m[5]);
    const Vector odd_b = hn::Sub(m[3], m[5]);
    o[0] = hn::Add(hn::Add(m[0], even_a), even_b);
    o[1] = times_plus(odd_b, b, times(odd_a, a));
    o[2] = times_plus(even_b, b2, times(even_a, a2));
    o[3] = times_plus(odd_b, b2 * b, times_plus(odd_a, a2 * a, m[4]));
  }
};

template <>
struct OutputTransform<3> {
  static constexpr int inputs = 5;
  static constexpr int outputs = 3;
  HWY_INLINE static void apply(const Vector* m, Vector* o) {
    const Vector even_a = hn::Add(m[1], m[2]);
    const Vector odd_a = hn::Sub(m[1], m[2]);
    o[0] = hn::Add(hn::Add(m[0], even_a), m[3]);
    o[1] = times_plus(m[3], b, times(odd_a, a));
    o[2] = times_plus(m[3], b2, times_plus(even_a, a2, m[4]));
  }
};

/// A: transforms gradients of outputs.
template <int SIZE>
struct GradientTransform;

template <>
struct GradientTransform<4> {
  static constexpr int inputs = 4;
  static constexpr int outputs = 6;
  HWY_INLINE static void apply(const Vector* y, Vector* o) {
    const Vector even_a = times_plus(y[2], a2, y[0]);
    const Vector odd_a = times_plus(y[3], a2, y[1]);
    const Vector even_b = times_plus(y[2], b2, y[0]);
    const Vector odd_b = times_plus(y[3], b2, y[1]);
    o[0] = y[0];
    o[1] = times_plus(odd_a, a, even_a);
    o[2] = times_plus(odd_a, -a, even_a);
    o[3] = times_plus(odd_b, b, even_b);
    o[4] = y[3];
    o[5] = times_plus(odd_b, -b, even_b);
  }
};

template <>
struct GradientTransform<3> {
  static constexpr int inputs = 3;
  static constexpr int outputs = 5;
  HWY_INLINE static void apply(const Vector* y, Vector* o) {
    const Vector even_a = times_plus(y[2], a2, y[0]);
    o[0] = y[0];
    o[1] = times_plus(y[1], a, even_a);
    o[2] = times_plus(y[1], -a, even_a);
    o[3] = times_plus(y[1], b, times_plus(y[2], b2, y[0]));
    o[4] = y[2];
  }
};

/// G: transforms filters.
struct FilterTransform {
  static constexpr int inputs = filter;
  static constexpr int outputs = patch;
  HWY_INLINE static void apply(const Vector* g, Vector* o) {
    const Vector even_a = times_plus(g[0], scale_a, times(g[2], scale_a * a2));
    const Vector even_b = times_plus(g[0], scale_b, times(g[2], scale_b * b2));
    o[0] = times(g[0], scale_0);
    o[1] = times_plus(g[1], scale_a * a, even_a);
    o[2] = times_plus(g[1], -scale_a * a, even_a);
    o[3] = times_plus(g[1], scale_b * b, even_b);
    o[4] = g[2];
    o[5] = times_plus(g[1], -scale_b * b, even_b);
  }
};

/// G': computes gradients of filters from products.
struct FilterGradientTransform {
  static constexpr int inputs = patch;
  static constexpr int outputs = filter;
  HWY_INLINE static void apply(const Vector* u, Vector* o) {
    const Vector even_a = hn::Add(u[1], u[2]);
    const Vector odd_a = hn::Sub(u[1], u[2]);
    const Vector even_b = hn::Add(u[3], u[5]);
    const Vector odd_b = hn::Sub(u[3], u[5]);
    o[0] = times_plus(u[0], scale_0, times_plus(even_a, scale_a, times(even_b, scale_b)));
    o[1] = times_plus(odd_a, scale_a * a, times(odd_b, scale_b * b));
    o[2] = times_plus(even_a, scale_a * a2, times_plus(even_b, scale_b * b2, u[4]));
  }
};

/// Transforms both dimensions: calls source(row, column) once per element, column by column, then
/// target(row, column, result) row by row.
template <class OfColumns, class OfRows, class Source, class Target>
HWY_INLINE void transform(const Source& source, const Target& target) {
  Vector half[OfColumns::outputs][OfRows::inputs];
  LOCKSTEP_UNROLL for (int j = 0; j < OfRows::inputs; ++j) {
    Vector column[OfColumns::inputs];
    Vector result[OfColumns::outputs];
    LOCKSTEP_UNROLL for (int i = 0; i < OfColumns::inputs; ++i) { column[i] = source(i, j); }
    OfColumns::apply(column, result);
    LOCKSTEP_UNROLL for (int i = 0; i < OfColumns::outputs; ++i) { half[i][j] = result[i]; }
  }
  LOCKSTEP_UNROLL for (int i = 0; i < OfColumns::outputs; ++i) {
    Vector result[OfRows::outputs];
    OfRows::apply(half[i], result);
    LOCKSTEP_UNROLL for (int j = 0; j < OfRows::outputs; ++j) { target(i, j, result[j]); }
  }
}

/// Matrices of the 36 positions.
struct Positions {
  float* data;
  std::size_t step;  ///< stride of positions, in floats
  HWY_INLINE Vector operator()(int i, int j) const { return hn::Load(floats, data + (i * patch + j) * step); }
  HWY_INLINE void operator()(int i, int j, Vector v) const {
    hn::Store(v, floats, data + (i * patch + j) * step);
  }
};

/// Stride of positions for matrices of `size` floats. Adds a cache line, so that the 36 vectors of a tile do
/// not share cache sets.
HWY_INLINE std::size_t position_step(std::size_t size) { return size + lanes; }

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd
