#pragma once

#include <cstddef>
#include <string>

#include "lockstep/task.h"

/// Mean and population standard deviation of a column's numbers, found in two passes over the rows. Sums are
/// added in the order of the rows in double.
namespace lockstep {

/// First pass over the numbers of a column.
struct NumberSums {
  std::size_t count = 0;
  double sum = 0.0;
  double first = 0.0;        ///< first number
  double differences = 0.0;  ///< sum of number - first
  double farthest = 0.0;     ///< largest |number - first|

  void add(double number);
};

/// Second pass over the same numbers.
class NumberScale {
 public:
  explicit NumberScale(const NumberSums& sums);

  void add(double number);
  /// The deviation is 0 if all numbers are equal, else above 0 if a double can hold it. The mean is accurate
  /// to a thousandth of the deviation, or to the last bit. Throws Error(data) naming the file and the column
  /// if the numbers are too large to be squared and added.
  TargetScale result(const std::string& file, const std::string& column) const;

 private:
  double count_;
  double mean_;  ///< sum of the numbers / count_
  double squares_ = 0.0;
  // Mean and squares from differences, which are exact for numbers that are close together.
  double close_mean_;  ///< first number + (sum of the differences from the first number) / count_
  double unit_;        ///< divisor of the differences before they are squared
  double close_squares_ = 0.0;
};

}  // namespace lockstep
