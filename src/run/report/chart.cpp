#include "run/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace lockstep {
namespace {

// Size of the picture and its margins, in SVG units.
constexpr double width = 640;
constexpr double height = 320;
constexpr double left = 64;
constexpr double right = 16;
constexpr double top = 48;
constexpr double bottom = 44;

/// Map from values to positions in the picture.
struct Scale {
  double x_low = std::numeric_limits<double>::infinity();
  double x_high = -x_low;
  double y_low = x_low;
  double y_high = -x_low;

  double x(double value) const { return left + (value - x_low) / (x_high - x_low) * (width - left - right); }
  double y(double value) const {
    return height - bottom - (value - y_low) / (y_high - y_low) * (height - top - bottom);
  }
};

bool is_finite(const ChartPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

bool is_visible(const ChartSeries& series) { return std::ranges::any_of(series.points, is_finite); }

/// Widens a range that is too narrow for ticks that differ by more than rounding.
void widen(double& low, double& high) {
  if (high - low > 1e-9 * std::max(std::abs(low), std::abs(high))) return;
  const double margin = low == 0.0 ? 1.0 : std::abs(low) * 0.5;
  low -= margin;
  high += margin;
}

Scale scale_of(const Chart& chart) {
  Scale scale;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      if (!is_finite(point)) continue;
      scale.x_low = std::min(scale.x_low, point.x);
      scale.x_high = std::max(scale.x_high, point.x);
      scale.y_low = std::min(scale.y_low, point.y);
      scale.y_high = std::max(scale.y_high, point.y);
    }
  }
  if (chart.y_from_zero) scale.y_low = std::min(scale.y_low, 0.0);
  widen(scale.x_low, scale.x_high);
  widen(scale.y_low, scale.y_high);
  return scale;
}

std::string axes(const Chart& chart, const Scale& scale) {
  std::string text;
  for (const double tick : round_ticks(scale.y_low, scale.y_high, 5)) {
    text += fmt::format(
        R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/><text class="y" x="{:.1f}" y="{:.1f}">{:.6g}</text>)"
        "\n",
        left, scale.y(tick), width - right, left - 8, scale.y(tick) + 4, tick);
  }
  for (const double tick : round_ticks(scale.x_low, scale.x_high, 8)) {
    text += fmt::format(R"(<text class="x" x="{:.1f}" y="{:.1f}">{:.6g}</text>)"
                        "\n",
                        scale.x(tick), height - bottom + 18, tick);
  }
  return text + fmt::format(R"(<text class="x" x="{:.1f}" y="{:.1f}">{}</text>)"
                            "\n",
                            (left + width - right) / 2, height - 6, escape_html(chart.x_label));
}

std::string line(const ChartSeries& series, const Scale& scale) {
  std::string path;
  std::string dots;
  bool drawing = false;
  for (const ChartPoint& point : series.points) {
    if (!is_finite(point)) {
      drawing = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", drawing ? 'L' : 'M', scale.x(point.x), scale.y(point.y));
    drawing = true;
    if (series.markers || series.points.size() == 1) {  // a single point has no line
      dots +=
          fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3"><title>{} {:.6g}: {:.6g}</title></circle>)",
                      scale.x(point.x), scale.y(point.y), escape_html(series.label), point.x, point.y);
    }
  }
  return fmt::format(R"(<g class="{}"><path d="{}"/>{}</g>)"
                     "\n",
                     series.style, path, dots);
}

std::string legend(const Chart& chart) {
  std::string text;
  double x = left;
  for (const ChartSeries& series : chart.series) {
    if (!is_visible(series)) continue;
    text += fmt::format(R"(<g class="{}"><path d="M{:.1f} 34h18"/></g><text x="{:.1f}" y="38">{}</text>)"
                        "\n",
                        series.style, x, x + 24, escape_html(series.label));
    x += 24 + 8.0 * static_cast<double>(series.label.size()) + 24;
  }
  return text;
}

}  // namespace

std::string svg(const Chart& chart) {
  if (std::ranges::none_of(chart.series, is_visible)) return {};
  const Scale scale = scale_of(chart);
  std::string text = fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)"
                                 "\n"
                                 R"(<text class="title" x="{}" y="18">{}</text>)"
                                 "\n",
                                 width, height, escape_html(chart.title), left, escape_html(chart.title));
  text += legend(chart) + axes(chart, scale);
  for (const ChartSeries& series : chart.series) text += line(series, scale);
  return text + "</svg>\n";
}

std::vector<ChartPoint> thin_out(const std::vector<ChartPoint>& points, std::size_t count) {
  std::vector<ChartPoint> finite;
  std::copy_if(points.begin(), points.end(), std::back_inserter(finite), is_finite);
  if (finite.size() <= count) return finite;
  std::vector<ChartPoint> result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = finite.size() * i / count;
    const std::size_t end = finite.size() * (i + 1) / count;
    ChartPoint mean;
    for (std::size_t j = begin; j < end; ++j) {
      mean.x += finite[j].x / static_cast<double>(end - begin);
      mean.y += finite[j].y / static_cast<double>(end - begin);
    }
    result.push_back(mean);
  }
  return result;
}

std::vector<double> round_ticks(double low, double high, int count) {
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (rough <= factor * power) step = factor * power;
  }
  std::vector<double> ticks;
  // The tolerance keeps ends that are round numbers except for rounding errors.
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
    ticks.push_back(i * step + 0.0);  // + 0.0: never -0
  return ticks;
}

std::string escape_html(const std::string& text) {
  constexpr std::string_view special = "&<>\"'";
  constexpr std::string_view entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string result;
  for (const char c : text) {
    const std::size_t which = special.find(c);
    if (which == std::string_view::npos) {
      result += c;
    } else {
      result += entities[which];
    }
  }
  return result;
}

}  // namespace lockstep
