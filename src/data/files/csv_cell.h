#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep {

/// `text` without spaces and tabs at its ends.
std::string_view without_spaces(std::string_view text);

/// Parses a cell without outer spaces as a finite number, with or without a leading +; returns nullopt for
/// any other text. Numbers too small for a double become 0. In a table separated by semicolons, numbers may
/// have a decimal comma.
std::optional<double> csv_number(std::string_view text, char separator);

/// Whether a cell without outer spaces is a missing value: empty or ?, or, in upper or lower case, NA, N/A,
/// NaN, null or none, as other programs write it.
bool is_csv_gap(std::string_view text);

/// Whether a text is a date, a time or both: 2024-01-31, 31.1.24, 1/31/2024 12:30, 5 Jan 2024, 12:30:05, ...
bool is_csv_date(std::string_view text);

/// Whether a text that csv_number does not read is a number in another notation: 1,95, $1.9, 1,234.5, 12 %.
/// Such a text may also be two choices (1,2) or an identifier (555 123): other_number_in decides from all
/// texts of a column. Longer lists (1,2,3) and other identifiers (030 123, 10.100.200) are not numbers.
bool is_other_number(std::string_view text);

/// Cell of a table, in the eight bytes of a double.
class CsvCell {
 public:
  static CsvCell gap() { return CsvCell(not_a_number); }
  /// `value` is finite.
  static CsvCell number(double value) { return CsvCell(std::bit_cast<std::uint64_t>(value)); }
  /// Text at `position` in the list of the column's texts.
  static CsvCell text(std::uint32_t position) { return CsvCell(not_a_number + 1 + position); }

  bool is_gap() const { return bits_ == not_a_number; }
  bool is_text() const { return bits_ > not_a_number && bits_ <= not_a_number + 1 + 0xffffffffU; }
  bool is_number() const { return !is_gap() && !is_text(); }
  double number() const { return std::bit_cast<double>(bits_); }
  std::uint32_t text() const { return static_cast<std::uint32_t>(bits_ - not_a_number - 1); }

 private:
  /// Bits of a quiet NaN. No finite number without a sign bit has these bits or larger ones.
  static constexpr std::uint64_t not_a_number = 0x7ff8'0000'0000'0000;

  explicit CsvCell(std::uint64_t bits) : bits_(bits) {}

  std::uint64_t bits_;
};

}  // namespace lockstep
