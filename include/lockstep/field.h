#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {

using Names = std::vector<std::string>;

/// Whether ranks must agree on the value of an option.
enum class Scope {
  result,    ///< affects the trained bits: equal on all ranks
  protocol,  ///< affects which collectives ranks call, or when a run ends: equal on all ranks
  file,      ///< names a file whose path may differ between hosts: set on all ranks or on none
  local,     ///< affects neither: may differ between ranks
};

/// Bounds of numbers: min <= x <= max, above < x < below. Numbers must be finite; negative ones are allowed
/// only if `min` is negative. Real numbers must stay within `above` and `below` when rounded to float. Times
/// are in seconds.
struct Range {
  double min = 0.0;
  double above = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  double below = std::numeric_limits<double>::infinity();

  bool operator==(const Range&) const = default;
};

/// Condition that another option has one of `values`; no values: any value but its default.
struct Requirement {
  const char* option = "";
  Names values = {};
};

/// Names for lists of numbers, such as "imagenet" for the mean of each channel.
using NamedNumbers = std::vector<std::pair<std::string, std::vector<double>>>;

/// Stands for an option's value that is computed from the training samples; users write `auto`.
template <class T>
inline constexpr T by_data{-1};
template <>
inline const std::vector<double> by_data<std::vector<double>>{std::numeric_limits<double>::infinity()};

/// The only description of an option. Flags, configuration files, the environment, --help, checks, the record
/// of the run and the comparison between ranks are derived from it.
struct Field {
  const char* name = "";   ///< "weight-decay": --weight-decay, LOCKSTEP_WEIGHT_DECAY, `weight-decay = 0.1`
  const char* help = "";   ///< what the option does, without range, default and final full stop
  const char* group = "";  ///< heading in --help; empty: the heading of the previous field
  const char* placeholder = "";  ///< stands for the value in --help; empty: chosen by type
  Range range = {};              ///< bounds of a number, or of each number of a list
  Scope scope = Scope::result;
  /// Values of other options that make this option affect the result, whatever its scope; empty: none.
  std::vector<Requirement> result_with = {};
  /// Allowed texts; for a bool, the texts of true and false; null: any text. Enumerations use choices_of.
  Names (*choices)() = nullptr;
  Names (*suggested)() = nullptr;  ///< some of the allowed texts, for shell completion
  const char* unlisted = "";       ///< choice that --help does not list, for tests of this program
  /// Conditions without which the option has no effect; values other than the default are then refused.
  std::vector<Requirement> needs = {};
  /// "cpu" or "cuda": the only device on which the option has an effect; empty: both. The option is accepted
  /// on the other device, too, as ranks may differ.
  const char* device = "";
  const char* zero = "";  ///< word for the value 0, which `range` need not contain; empty: none
  /// Rule that computes the value `auto` (by_data in the program) from the training samples; empty: the
  /// option has no such value. For numbers and lists of numbers only.
  const char* by_data = "";
  NamedNumbers (*named)() = nullptr;            ///< names for lists of numbers
  void (*check)(const std::string&) = nullptr;  ///< throws Error(usage) for an impossible text
  bool visible = true;  ///< whether users can set the option; false: only programs can
};

/// Whether `O` is `Options`, const or not.
template <class O, class Options>
concept OptionsOf = std::same_as<std::remove_const_t<O>, Options>;

/// Enumeration of consecutive values from 0, with a function choices_of that returns their names in order.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  { choices_of(value) } -> std::same_as<Names>;
};

/// Name of `value` as users write it.
template <NamedEnum E>
std::string name_of(E value) {
  return choices_of(value).at(static_cast<std::size_t>(value));
}

/// Interval of random numbers, written `MIN,MAX`.
struct Interval {
  double min = 0.0;
  double max = 0.0;

  bool operator==(const Interval&) const = default;
};

}  // namespace lockstep
