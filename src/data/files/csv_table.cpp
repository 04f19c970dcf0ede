#include "data/files/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "core/nearest.h"
#include "core/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail_csv(const std::string& what) { throw Error(Category::data, what); }

std::string_view without_spaces(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  return status == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// Parses a number, which may begin with +. Too large for a double: infinite; too small: 0.
std::optional<double> number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  double value = 0.0;
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || status == std::errc::invalid_argument) return std::nullopt;
  if (status != std::errc::result_out_of_range) return value;
  long double wide = std::numeric_limits<long double>::infinity();  // its wider exponent distinguishes
                                                                    // overflow from underflow
  std::from_chars(text.data(), end, wide);
  return static_cast<double>(wide);
}

/// Refuses a first line that consists of values: all fields are numbers, or all but one and not only whole
/// numbers, which may be names of columns.
void check_names(const CsvReader& reader, const std::vector<std::string>& header) {
  const auto is_number = [](const std::string& field) {  // not inf, which may be a name
    return std::isfinite(number(field).value_or(std::numeric_limits<double>::infinity()));
  };
  const auto is_fraction = [&](const std::string& field) { return is_number(field) && !whole_number(field); };
  const auto numbers = static_cast<std::size_t>(std::ranges::count_if(header, is_number));
  const auto fraction = std::ranges::find_if(header, is_fraction);
  const bool values = numbers + 1 == header.size() && fraction != header.end();
  if (header.empty() || (numbers < header.size() && !values)) return;
  fail_csv(fmt::format("{}: line {}: {} is a number; the first line must name the columns", reader.name(),
                       reader.line(), in_quotes(fraction != header.end() ? *fraction : header[0])));
}

/// Reads the header into `table`. Returns the index of the label column.
std::size_t read_header(CsvReader& reader, const std::string& wanted, CsvTable& table) {
  std::vector<std::string> header;
  if (!reader.next(header)) {
    fail_csv(fmt::format("{}: is empty; a header line with the names of the columns must come first",
                         reader.name()));
  }
  for (std::string& name : header) name = std::string(without_spaces(name));
  check_names(reader, header);
  std::unordered_set<std::string_view> names;
  for (const std::string& name : header) {
    if (!names.insert(name).second) {
      fail_csv(fmt::format("{}: line {}: two columns are called {}", reader.name(), reader.line(),
                           in_quotes(name)));
    }
  }
  const auto found = std::find(header.begin(), header.end(), wanted.empty() ? "label" : wanted);
  if (found == header.end() && !wanted.empty()) {
    for (std::string& name : header) name = printable(name);
    fail_csv(fmt::format("{}: line {}: {}", reader.name(), reader.line(),
                         unknown_name("label column", wanted, header)));
  }
  const auto label =
      std::min<std::size_t>(static_cast<std::size_t>(found - header.begin()), header.size() - 1);
  table.label_column = header[label];
  header.erase(header.begin() + static_cast<std::ptrdiff_t>(label));
  if (header.empty()) {
    fail_csv(fmt::format("{}: line {}: no column but the classes'", reader.name(), reader.line()));
  }
  table.features = std::move(header);
  return label;
}

double parse_value(const CsvReader& reader, const std::string& column, std::string_view field) {
  const std::optional<double> value = number(without_spaces(field));
  if (!value || !std::isfinite(*value)) {
    const char* what = value ? "is not a finite number" : "is not a number";
    fail_csv(fmt::format("{}: line {}, column {}: {} {}", reader.name(), reader.line(), in_quotes(column),
                         in_quotes(field), what));
  }
  return *value;
}

}  // namespace

CsvTable parse_csv_table(std::string_view text, const std::string& name, const std::string& label_column) {
  CsvReader reader(text, name);
  return parse_csv_table(reader, label_column);
}

CsvTable parse_csv_table(CsvReader& reader, const std::string& label_column) {
  const std::string& name = reader.name();
  CsvTable table;
  table.name = name;
  const std::size_t label = read_header(reader, label_column, table);
  const std::size_t columns = table.features.size() + 1;
  table.values = RowBlocks<double>(columns - 1);
  std::vector<double> row;
  std::vector<std::string> fields;
  while (reader.next(fields)) {
    if (fields.size() != columns) {
      fail_csv(fmt::format("{}: line {}: {} fields, the header has {}", name, reader.line(), fields.size(),
                           columns));
    }
    row.clear();
    for (std::size_t i = 0; i < columns; ++i) {
      if (i != label) {
        row.push_back(parse_value(reader, table.features[i < label ? i : i - 1], fields[i]));
      }
    }
    table.values.append(row);
    table.labels.emplace_back(without_spaces(fields[label]));
    table.lines.push_back(reader.line());
    if (table.labels.back().empty()) {
      fail_csv(fmt::format("{}: line {}, column {}: no class", name, reader.line(),
                           in_quotes(table.label_column)));
    }
  }
  if (table.rows() == 0) {
    fail_csv(fmt::format("{}: no rows after the header", name));
  }
  return table;
}

std::vector<std::string> sorted_classes(const std::vector<std::string>& labels) {
  const std::unordered_set<std::string_view> distinct(labels.begin(), labels.end());
  std::vector<std::string> classes(distinct.begin(), distinct.end());
  std::ranges::sort(classes);
  const auto is_number = [](const std::string& text) { return whole_number(text).has_value(); };
  if (std::ranges::all_of(classes, is_number)) {
    std::ranges::stable_sort(classes, {}, [](const std::string& text) { return *whole_number(text); });
  }
  return classes;
}

CsvStatistics csv_statistics(const CsvTable& table) {
  const std::size_t columns = table.features.size();
  const auto rows = static_cast<double>(table.rows());
  CsvStatistics result{std::vector<double>(columns), std::vector<double>(columns)};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t i = 0; i < columns; ++i) result.mean[i] += table.values[row][i];
  }
  for (double& mean : result.mean) mean /= rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t i = 0; i < columns; ++i) {
      const double difference = table.values[row][i] - result.mean[i];
      result.deviation[i] += difference * difference;
    }
  }
  for (std::size_t i = 0; i < columns; ++i) {
    if (!std::isfinite(result.deviation[i])) {
      fail_csv(
          fmt::format("{}: column {}: its numbers are too large", table.name, in_quotes(table.features[i])));
    }
    result.deviation[i] = std::sqrt(result.deviation[i] / rows);
  }
  return result;
}

RowBlocks<float> standardized(RowBlocks<double>& values, const CsvStatistics& statistics) {
  const std::size_t columns = statistics.mean.size();
  RowBlocks<float> result(columns);
  std::vector<float> row(columns);
  values.consume([&](std::span<const double> numbers) {
    for (std::size_t i = 0; i < columns; ++i) {
      const double mean = statistics.mean[i];
      const double deviation = statistics.deviation[i];
      // Rounding may leave the mean of a constant column slightly off, and its deviation tiny instead of 0.
      const bool constant = deviation <= 1e-12 * std::fabs(mean);
      const double value = constant ? 0.0 : (numbers[i] - mean) / deviation;
      row[i] = static_cast<float>(std::clamp(value, -3e38, 3e38));
    }
    result.append(row);
  });
  return result;
}

}  // namespace lockstep
