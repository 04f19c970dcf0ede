#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct ChartPoint {
  double x = 0.0;
  double y = 0.0;
};

/// Line of a chart. `style` is its CSS class. Points that are not finite interrupt the line.
struct ChartSeries {
  std::string label;
  std::string style;
  std::vector<ChartPoint> points;
  bool markers = false;  ///< draws a dot, whose values show under the pointer, on each point; a single point
                         ///< always has one
};

struct Chart {
  std::string title;
  std::string x_label;
  std::vector<ChartSeries> series;
  bool y_from_zero = false;
};

/// An SVG element: title, axes with round numbers, lines and legend. Omits series without a finite point;
/// empty if no series has one.
std::string svg(const Chart& chart);

/// Reduces `points` to at most `count` means of consecutive points. Skips points that are not finite.
std::vector<ChartPoint> thin_out(const std::vector<ChartPoint>& points, std::size_t count);

/// Round numbers in [low, high] that divide it into about `count` parts, in ascending order.
std::vector<double> round_ticks(double low, double high, int count);

/// `text` with & < > " ' as HTML entities.
std::string escape_html(const std::string& text);

}  // namespace lockstep
