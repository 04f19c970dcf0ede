#include "data/files/csv_table.h"
#include "fuzz.h"

/// A table that is accepted has a value for every row and feature, and can be standardised.
void read_input(std::span<const std::byte> file) {
  lockstep::CsvTable table = lockstep::parse_csv_table(text_of(file), "file", "");
  if (table.values.size() != table.rows() || lockstep::sorted_classes(table.labels).empty()) {
    __builtin_trap();
  }
  const std::size_t features = table.features.size();
  const auto numbers = lockstep::standardized(table.values, lockstep::csv_statistics(table));
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (numbers[row].size() != features) __builtin_trap();
    for (const float value : numbers[row]) {
      if (!(value > -3.4e38F && value < 3.4e38F)) __builtin_trap();
    }
  }
}
