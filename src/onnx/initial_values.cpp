#include "onnx/initial_values.h"

#include <algorithm>
#include <cmath>

#include "graph/operations.h"

namespace lockstep {
namespace {

constexpr double errors_allowed = 5.0;
/// Minimum number of values for find_scale(); fewer values would too easily fit a distribution of some scale.
constexpr std::size_t least_values = 256;

struct Moments {
  explicit Moments(std::span<const float> values) : count(static_cast<double>(values.size())) {
    for (const float value : values) {
      mean += value;
      max = std::max(max, std::abs(static_cast<double>(value)));
    }
    mean /= count;
    double fourth = 0.0;
    for (const float value : values) {
      const double square = (value - mean) * (value - mean);
      variance += square;
      fourth += square * square;
    }
    variance /= count;
    kurtosis = fourth / count / (variance * variance);
  }

  double count;
  double mean = 0.0;
  double variance = 0.0;
  double kurtosis = 0.0;  ///< 3 for a normal distribution, 1.8 for a uniform one
  double max = 0.0;       ///< maximum of the absolute values
};

/// Whether values with these moments may be drawn from a distribution with mean 0 and this `kurtosis`.
/// `spread`: standard deviation of a sample's kurtosis, times the square root of the sample's size.
bool has_shape(const Moments& found, double kurtosis, double spread) {
  const double root = std::sqrt(found.count);
  return std::abs(found.mean) <= errors_allowed * std::sqrt(found.variance) / root &&
         std::abs(found.kurtosis - kurtosis) <= errors_allowed * spread / root;
}
bool is_normal(const Moments& found) { return has_shape(found, 3.0, std::sqrt(24.0)); }
bool is_uniform(const Moments& found) { return has_shape(found, 1.8, 1.0); }

/// Standard error of the variance, relative to the variance.
double variance_error(const Moments& found) { return std::sqrt((found.kurtosis - 1.0) / found.count); }

bool may_come_from(const Moments& found, const Initializer& rule) {
  const bool normal = rule.kind == Initializer::Kind::normal;
  const double variance = rule.scale * rule.scale / (normal ? 1.0 : 3.0);
  const bool fits = normal ? is_normal(found) : is_uniform(found) && found.max <= rule.scale * (1.0 + 1e-6);
  return fits && std::abs(found.variance / variance - 1.0) <= errors_allowed * variance_error(found);
}

/// The number in [low, high] with the fewest significant digits.
double roundest(double low, double high) {
  double unit = std::pow(10.0, std::ceil(std::log10(high)));
  while (std::ceil(low / unit) * unit > high) unit /= 10.0;
  const double whole = std::ceil(low / unit);
  const double inverse =
      std::round(1.0 / unit);  // exact for units below 1: 1 / 100 is 0.01, 1 * 0.01 may not be
  return unit < 1.0 ? whole / inverse : whole * unit;
}

/// Normal or uniform distribution, of any scale, from which the values may have been drawn.
std::optional<Initializer> find_scale(const Moments& found) {
  if (is_normal(found)) {
    const double deviation = std::sqrt(found.variance);
    const double error = errors_allowed * deviation * variance_error(found) / 2.0;
    return Initializer::normal(roundest(deviation - error, deviation + error));
  }
  // The maximum of n values is below the half width by about 1 / n of it.
  const double half_width = roundest(found.max, found.max * (1.0 + 2.0 * errors_allowed / found.count));
  const Initializer rule = Initializer::uniform(half_width);
  return may_come_from(found, rule) ? std::optional(rule) : std::nullopt;
}

bool all_are(std::span<const float> values, float value) {
  return std::ranges::all_of(values, [&](float each) { return each == value; });
}

}  // namespace

std::optional<Initializer> find_constant_initializer(std::span<const float> weights) {
  if (all_are(weights, 1.0F)) return Initializer::ones();
  if (all_are(weights, 0.0F)) return Initializer::zeros();
  return std::nullopt;
}

std::optional<Initializer> find_initializer(std::span<const float> weights,
                                            std::span<const std::int64_t> shape,
                                            std::span<const float> bias) {
  const std::string name = "layer";
  const auto resolved = [&](const Initializer& rule) {
    return weight_and_bias({.name = name}, {shape.begin(), shape.end()}, rule, true);
  };
  const bool zero_bias = all_are(bias, 0.0F);
  if (const auto constant = find_constant_initializer(weights); constant && zero_bias) return constant;
  const Moments found(weights);
  for (const Initializer& rule : {Initializer::standard(), Initializer::he_fan_out()}) {
    const auto parameters = resolved(rule);
    const Initializer& of_bias = parameters[1].initializer;
    const bool bias_fits =
        of_bias.kind == Initializer::Kind::zeros ? zero_bias : std::ranges::all_of(bias, [&](float value) {
          return std::abs(value) <= of_bias.scale * (1.0 + 1e-6);
        });
    if (bias_fits && may_come_from(found, parameters[0].initializer)) return rule;
  }
  if (!zero_bias || weights.size() < least_values) return std::nullopt;
  return find_scale(found);
}

}  // namespace lockstep
