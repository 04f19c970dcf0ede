#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {

using Names = std::vector<std::string>;

/// Agreement that ranks need on the value of an option.
enum class Scope {
  result,    ///< affects the trained bits: equal on all ranks
  protocol,  ///< affects which collectives ranks call, or when a run ends: equal on all ranks
  file,      ///< names a file, whose path may differ between hosts: given on all ranks or on none
  local,     ///< affects neither: may differ between ranks
};

/// Bounds of numbers: min <= x <= max, above < x < below. Numbers are finite, and negative only if `min` is.
/// Real numbers keep `above` and `below` when they are rounded to float, too. Times are in seconds.
struct Range {
  double min = 0.0;
  double above = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  double below = std::numeric_limits<double>::infinity();

  bool operator==(const Range&) const = default;
};

/// Condition that another option has one of `values`; if there are none: any value but its default.
struct Requirement {
  const char* option = "";
  Names values = {};
};

/// Names that stand for lists of numbers, as "imagenet" stands for the mean of each channel.
using NamedNumbers = std::vector<std::pair<std::string, std::vector<double>>>;

/// Value of an option that stands for one which follows from the training samples; users write `auto`.
template <class T>
inline constexpr T by_data{-1};
template <>
inline const std::vector<double> by_data<std::vector<double>>{std::numeric_limits<double>::infinity()};

/// Only description of an option. Flags, configuration files, the environment, --help, checks, the record of
/// the run and the comparison between ranks follow from it.
struct Field {
  const char* name = "";   ///< "weight-decay": --weight-decay, LOCKSTEP_WEIGHT_DECAY, `weight-decay = 0.1`
  const char* help = "";   ///< what it does, without range, default and final full stop
  const char* group = "";  ///< heading in --help; empty: the heading of the previous field
  const char* placeholder = "";  ///< stands for the value in --help; empty: chosen by type
  Range range = {};              ///< bounds of a number, or of each number of a list
  Scope scope = Scope::result;
  /// Values of other options with which the option affects the result, whatever its scope; empty: none.
  std::vector<Requirement> result_with = {};
  /// Possible texts; for a bool, those of true and false; null: any text. Enumerations have choices_of.
  Names (*choices)() = nullptr;
  Names (*suggested)() = nullptr;  ///< some of the possible texts, which shells complete
  const char* unlisted = "";       ///< choice that --help does not list, for tests of this program
  /// Conditions without which the option has no effect; a value other than the default is then refused.
  std::vector<Requirement> needs = {};
  /// "cpu" or "cuda": the only device on which the option has an effect; empty: both. It is accepted on the
  /// other one, as ranks may differ.
  const char* device = "";
  const char* zero = "";  ///< text for the value 0, which `range` need not contain
  /// Rule by which the value `auto`, by_data in the program, follows from the training samples; empty: the
  /// option has no such value. Numbers and lists of numbers only.
  const char* by_data = "";
  NamedNumbers (*named)() = nullptr;            ///< names that stand for lists of numbers
  void (*check)(const std::string&) = nullptr;  ///< throws Error(usage) for an impossible text
  bool visible = true;                          ///< whether users can set it, not only programs
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
