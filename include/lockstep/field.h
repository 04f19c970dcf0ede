#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {

using Names = std::vector<std::string>;

/// Ranks that must agree on an option's value.
enum class Scope {
  result,    ///< decides the trained bits: equal on all ranks
  protocol,  ///< decides which collectives ranks make, or when a run ends: equal on all ranks
  file,      ///< names a file, whose path may differ between hosts: given on all ranks or on none
  local,     ///< changes neither: each rank may have its own
};

/// Bounds of numbers: min <= x <= max, above < x < below. Numbers are finite, and not negative unless `min`
/// says so. Real numbers keep the upper bounds when they are rounded to float, too.
struct Range {
  double min = 0.0;
  double above = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  double below = std::numeric_limits<double>::infinity();
};

/// Another option that has to have one of these values (none listed: any but its default).
struct Requirement {
  const char* option = "";
  Names values = {};
};

/// Lists of numbers that have a name.
using NamedNumbers = std::vector<std::pair<std::string, std::vector<double>>>;

/// Description of one option, the only one: flags, configuration files, the environment, --help, checks, the
/// run's record and the comparison between ranks follow from it.
struct Field {
  const char* name = "";   ///< "weight-decay": --weight-decay, LOCKSTEP_WEIGHT_DECAY, `weight-decay = 0.1`
  const char* help = "";   ///< one line, without the full stop
  const char* group = "";  ///< heading in --help; empty: that of the field before
  const char* placeholder = "";  ///< stands for the value in --help; empty: by type
  Range range = {};              ///< of numbers, each of a list
  Scope scope = Scope::result;
  /// The texts that are possible; of a bool, those for true and false; null: any. Enumerations have
  /// choices_of.
  Names (*choices)() = nullptr;
  /// Another value than the default has an effect only where all of these hold; it is refused elsewhere.
  std::vector<Requirement> needs = {};
  const char* zero = "";                        ///< text that stands for 0, which is then outside `range`
  NamedNumbers (*named)() = nullptr;            ///< names that stand for lists of numbers
  void (*check)(const std::string&) = nullptr;  ///< throws Error(usage) for an impossible text
  bool visible = true;                          ///< whether users can set it; else programs only
};

/// `O` is `Options`, const or not.
template <class O, class Options>
concept OptionsOf = std::same_as<std::remove_const_t<O>, Options>;

/// An enumeration of consecutive values from 0, with a function that returns their names in this order.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  { choices_of(value) } -> std::same_as<Names>;
};

/// Name of a value of an enumeration.
template <NamedEnum E>
std::string name_of(E value) {
  return choices_of(value).at(static_cast<std::size_t>(value));
}

/// Bounds of random numbers, as an option `MIN,MAX`.
struct Interval {
  double min = 0.0;
  double max = 0.0;

  bool operator==(const Interval&) const = default;
};

}  // namespace lockstep
