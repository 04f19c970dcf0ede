#include "data/files/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/text/nearest.h"
#include "core/text/printable.h"
#include "core/text/utf8.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// An empty `column` stands for the whole line.
[[noreturn]] void fail_csv(const CsvReader& reader, const std::string& column, const std::string& what) {
  const std::string place = column.empty() ? "" : ", column " + in_quotes(column);
  throw Error(Category::data, fmt::format("{}: line {}{}: {}", reader.name(), reader.line(), place, what));
}

void check_utf8(const CsvReader& reader, const std::string& column, std::string_view text) {
  if (is_utf8(text)) return;
  fail_csv(reader, column,
           "a text is not UTF-8: save the table as UTF-8, or convert it (iconv -f WINDOWS-1252 -t UTF-8)");
}

/// Rejects a first line that consists of values: all fields are numbers, or all but one are and some have a
/// fraction (whole numbers may be column names). Fields that are `known` names do not count as numbers.
void check_names(const CsvReader& reader, const std::vector<std::string>& header,
                 const std::unordered_set<std::string_view>& known) {
  const auto is_number = [&](const std::string& field) {  // false for inf, which may be a name
    return !known.contains(field) && csv_number(field, reader.separator());
  };
  const auto is_fraction = [&](const std::string& field) {
    return is_number(field) && !whole_number<std::int64_t>(field);
  };
  const auto numbers = static_cast<std::size_t>(std::ranges::count_if(header, is_number));
  const auto fraction = std::ranges::find_if(header, is_fraction);
  const bool values = numbers + 1 == header.size() && fraction != header.end();
  if (header.empty() || (numbers < header.size() && !values)) return;
  fail_csv(reader, "",
           fmt::format("{} is a number; the first line must name the columns",
                       in_quotes(fraction != header.end() ? *fraction : header[0])));
}

/// Position in `header` of the column `name`, given with the option `option`.
std::size_t find_column(const CsvReader& reader, const std::vector<std::string>& header,
                        std::string_view kind, const std::string& name, const char* option) {
  const auto found = std::ranges::find(header, name);
  if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  throw Error(Category::data,
              fmt::format("{}: line {}: {}", reader.name(), reader.line(), unknown_name(kind, name, header)),
              option);
}

/// Positions of a table's columns in its records.
struct CsvLayout {
  std::size_t fields = 0;
  std::size_t label = 0;
  std::vector<std::size_t> features = {};
};

/// Reads the header and sets the names of the columns of `table`.
CsvLayout read_layout(CsvReader& reader, const CsvOptions& options, CsvTable& table) {
  const std::vector<std::string> header = read_csv_header(reader);
  const std::vector<bool> dropped = dropped_columns(reader, header, options.drop_columns);
  CsvLayout layout{.fields = header.size()};
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!dropped[i]) layout.features.push_back(i);
  }
  const auto is_label = [&](std::size_t i) { return header[i] == usual_label_column; };
  auto label = options.label_column.empty()
                   ? std::ranges::find_if(layout.features, is_label)
                   : std::ranges::find(layout.features, find_column(reader, header, "label column",
                                                                    options.label_column, "label-column"));
  if (label == layout.features.end() && !options.label_column.empty()) {
    throw Error(Category::usage, fmt::format("{} is the label column", in_quotes(options.label_column)),
                "drop-columns");
  }
  if (layout.features.size() < 2) {
    fail_csv(reader, "",
             "no column of features beside that of the labels; columns are separated by commas, semicolons "
             "or tabs");
  }
  if (label == layout.features.end()) --label;
  layout.label = *label;
  layout.features.erase(label);
  table.labels.column = header[layout.label];
  for (const std::size_t i : layout.features) table.columns.push_back({.name = header[i]});
  return layout;
}

CsvCell cell_of(const CsvReader& reader, std::string_view field, CsvColumn& column) {
  const std::string_view text = without_spaces(field);
  if (is_csv_gap(text)) return CsvCell::gap();
  const std::optional<double> number = csv_number(text, reader.separator());
  if (number) {
    column.spellings.add(text, *number, reader.line());
    return CsvCell::number(*number);
  }
  check_utf8(reader, column.name, text);
  return CsvCell::text(column.texts.add(text));
}

/// Warns if the first line seems to be a row, i.e. if the name of a column of numbers is a number. Does not
/// warn of ascending or descending whole numbers, which are common names: positions, years, wavelengths.
void warn_of_values_as_names(CsvTable& table, const std::vector<std::size_t>& features) {
  std::vector<double> numbers;
  std::string first;
  double position = 0.0;  // column of `first`
  bool whole = true;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const CsvColumn& column = table.columns[i];
    const std::optional<double> number = csv_number(column.name, table.labels.separator);
    if (!number || column.texts.size() > 0) continue;
    if (numbers.empty()) {
      first = column.name;
      position = static_cast<double>(features[i]);
    }
    numbers.push_back(*number);
    whole = whole && whole_number<std::int64_t>(column.name);
  }
  if (numbers.empty()) return;
  const bool year_or_position =
      (numbers[0] >= 1900.0 && numbers[0] <= 2100.0) || std::fabs(numbers[0] - position) <= 1.0;
  const bool ordered = std::ranges::adjacent_find(numbers, std::greater_equal()) == numbers.end() ||
                       std::ranges::adjacent_find(numbers, std::less_equal()) == numbers.end();
  if (whole && ordered && (numbers.size() > 1 || year_or_position)) return;
  table.warnings.push_back(
      fmt::format("{}: the first line names the columns, but {} is a number: is the header missing?",
                  table.labels.file, in_quotes(first)));
}

/// Warns of columns of texts if most of their texts are numbers in another notation.
void warn_of_other_numbers(CsvTable& table) {
  std::vector<std::string> columns;
  std::string first;
  for (const CsvColumn& column : table.columns) {
    const std::string number = other_number_in(column.texts);
    if (number.empty()) continue;
    if (columns.empty()) first = number;
    columns.push_back(column.name);
  }
  if (columns.empty()) return;
  table.warnings.push_back(fmt::format(
      "{}: column{} {}: numbers such as {} count as texts: write them like 1234.5{}", table.labels.file,
      columns.size() == 1 ? "" : "s", first_names(columns), in_quotes(first), semicolon_advice(first)));
}

/// Warns of columns of numbers that a few texts turn into columns of categories. Texts with digits may be
/// groups of numbers ("3+"), or numbers in another notation, about which warn_of_other_numbers warns.
void warn_of_texts_among_numbers(CsvTable& table) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const CsvTexts& texts = table.columns[i].texts;
    if (texts.size() == 0) continue;
    std::size_t numbers = 0, cells = 0;
    std::optional<std::size_t> first;  // row of the first text without digits
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const CsvCell cell = table.cells[row][i];
      if (cell.is_gap()) continue;
      ++cells;
      if (cell.is_number()) {
        ++numbers;
      } else if (!first && cell.text() != CsvTexts::rest &&
                 std::ranges::none_of(texts[cell.text()], is_digit)) {
        first = row;
      }
    }
    if (!first || 2 * numbers <= cells) continue;
    table.warnings.push_back(fmt::format(
        "{}: column {} holds categories, since {} (line {}) is not a number, as {} of its {} cells are: "
        "correct such cells, or leave them empty for missing values",
        table.labels.file, in_quotes(table.columns[i].name), in_quotes(texts[table.cells[*first][i].text()]),
        table.labels.lines[*first], numbers, cells));
  }
}

/// Determines whether the cells of a column identify the rows.
class RowIdWatch {
 public:
  void add(CsvCell cell) {
    if (cell.is_text()) ++texts_;
    const double number = cell.is_number() ? cell.number() : std::nan("");
    running_ = running_ && (rows_ == 0 ? std::trunc(number) == number : number == last_ + 1);
    last_ = number;
    ++rows_;
  }
  bool found(const CsvColumn& column) const {
    constexpr std::size_t enough_rows = 10;
    const bool all_differ = texts_ == rows_ && column.texts.size() == rows_;
    return rows_ >= enough_rows && (running_ || all_differ);
  }

 private:
  std::size_t rows_ = 0;
  std::size_t texts_ = 0;
  double last_ = 0.0;
  bool running_ = true;
};

}  // namespace

void RowLabels::fail(std::size_t row, const std::string& what) const {
  throw Error(Category::data,
              fmt::format("{}: line {}, column {}: {}", file, lines[row], in_quotes(column), what));
}

void RowLabels::append(const CsvReader& reader, std::string_view field) {
  lines.push_back(reader.line());
  if (column.empty()) return;
  const std::string_view text = without_spaces(field);
  if (text.empty()) fail_csv(reader, column, "no label; fill it in, or remove the row");
  check_utf8(reader, column, text);
  texts.emplace_back(text);
}

std::uint32_t CsvTexts::add(std::string_view text) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  const auto found = positions_.find(text);
  if (found != positions_.end()) return found->second;
  if (texts_.size() == rest || bytes_ + text.size() > most_bytes) return rest;
  const auto position = static_cast<std::uint32_t>(texts_.size());
  bytes_ += text.size();
  texts_.emplace_back(text);
  positions_.emplace(text, position);
  return position;
}

std::string other_number_in(const CsvTexts& texts) {
  std::vector<std::string> numbers, pairs, groups;
  bool lists = false, unsorted_pairs = false, short_groups = false;
  for (std::uint32_t position = 0; position < texts.size(); ++position) {
    const std::string& text = texts[position];
    if (!is_other_number(text)) {
      lists = lists || std::ranges::count(text, ',') > 1;
    } else if (text.size() == 3 && text[1] == ',') {
      pairs.push_back(text);
      unsorted_pairs = unsorted_pairs || text[0] == '0' || text[0] >= text[2];
    } else if (text.find_first_not_of("0123456789 ") == std::string::npos) {
      groups.push_back(text);
      short_groups = short_groups || text.find(' ') < 3;
    } else {
      numbers.push_back(text);
    }
  }
  // Pairs of choices are usually ascending, and their column has longer lists; phone numbers have one length.
  constexpr std::size_t enough_pairs = 3;
  const bool sure = !numbers.empty();
  if (!lists && (sure || (unsorted_pairs && pairs.size() >= enough_pairs))) {
    numbers.insert(numbers.end(), pairs.begin(), pairs.end());
  }
  if (sure || short_groups) numbers.insert(numbers.end(), groups.begin(), groups.end());
  return 2 * numbers.size() > texts.size() ? numbers[0] : std::string();
}

std::string semicolon_advice(std::string_view number) {
  const bool may_be_thousands = number.size() > 4 && number[number.size() - 4] == ',';  // 1,234
  return csv_number(number, ';') && !may_be_thousands ? ", or separate the cells by semicolons" : "";
}

void NumberSpellings::add(std::string_view text, double number, std::size_t line) {
  const bool has_comma = text.find(',') != std::string_view::npos;
  Decimal& first = has_comma ? comma_ : point_;
  if (first.line == 0 && (has_comma || text.find('.') != std::string_view::npos)) {
    first = {.text = std::string(text), .number = number, .line = line};
  }
  if (!equal_numbers_.empty() || too_many_ || std::trunc(number) != number) return;
  const auto [known, is_new] = spellings_.try_emplace(number, text);
  if (!is_new && known->second != text) {
    equal_numbers_ = fmt::format("{} and {}", in_quotes(known->second), in_quotes(text));
  }
  if (spellings_.size() > most) {
    too_many_ = true;
    spellings_.clear();
  }
}

std::string NumberSpellings::mixed_decimals() const {
  if (comma_.line == 0 || point_.line == 0) return {};
  return fmt::format(
      "{} (line {}) has a decimal comma, but {} (line {}) has a decimal point and counts as {}",
      in_quotes(comma_.text), comma_.line, in_quotes(point_.text), point_.line, point_.number);
}

void warn_of_mixed_decimals(const std::string& file, const std::vector<CsvColumn>& columns,
                            std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  std::string first;
  for (const CsvColumn& column : columns) {
    const std::string mixed = column.spellings.mixed_decimals();
    if (mixed.empty()) continue;
    if (names.empty()) first = mixed;
    names.push_back(column.name);
  }
  if (names.empty()) return;
  warnings.push_back(fmt::format("{}: column{} {}: {}: write all numbers in one way", file,
                                 names.size() == 1 ? "" : "s", first_names(names), first));
}

std::vector<std::string> read_csv_header(CsvReader& reader, std::span<const std::string> known) {
  std::vector<std::string> header;
  if (!reader.next(header)) {
    throw Error(Category::data,
                fmt::format("{}: is empty; a header line with the names of the columns must come first",
                            reader.name()));
  }
  if (header[0].starts_with("\xff\xfe") || header[0].starts_with("\xfe\xff")) {
    fail_csv(reader, "", "is UTF-16: save the table as UTF-8, or convert it (iconv -f UTF-16 -t UTF-8)");
  }
  for (std::string& name : header) {
    name = std::string(without_spaces(name));
    check_utf8(reader, "", name);
  }
  check_names(reader, header, {known.begin(), known.end()});
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i].empty()) header[i] = fmt::format("column{}", i + 1);
    if (!names.insert(header[i]).second) {
      fail_csv(reader, "", "two columns are called " + in_quotes(header[i]));
    }
  }
  return header;
}

std::vector<bool> dropped_columns(const CsvReader& reader, const std::vector<std::string>& header,
                                  const Names& drop_columns) {
  std::vector<bool> dropped(header.size());
  for (auto part = drop_columns.begin(); part != drop_columns.end();) {
    std::string name = *part;
    auto next = part + 1;
    const auto position = [&] {
      const bool quoted = name.size() > 2 && name.starts_with('"') && name.ends_with('"');
      const auto found = std::ranges::find(header, name);
      return found == header.end() && quoted ? std::ranges::find(header, name.substr(1, name.size() - 2))
                                             : found;
    };
    while (position() == header.end() && next != drop_columns.end()) name += "," + *next++;
    const auto found = position();
    if (found == header.end()) find_column(reader, header, "column", *part, "drop-columns");  // throws
    dropped[static_cast<std::size_t>(found - header.begin())] = true;
    part = next;
  }
  return dropped;
}

bool next_csv_row(CsvReader& reader, std::size_t columns, std::vector<std::string>& fields) {
  if (!reader.next(fields)) return false;
  if (fields.size() != columns) {
    fail_csv(reader, "", fmt::format("{}, the header has {}", counted(fields.size(), "field"), columns));
  }
  return true;
}

void fail_without_rows(const CsvReader& reader) {
  throw Error(Category::data, fmt::format("{}: no rows after the header", reader.name()));
}

CsvTable parse_csv_table(CsvReader& reader, const CsvOptions& options) {
  CsvTable table;
  table.labels.file = reader.name();
  table.labels.separator = reader.separator();
  const CsvLayout layout = read_layout(reader, options, table);
  table.cells = RowBlocks<CsvCell>(table.columns.size());
  std::vector<RowIdWatch> watches(table.columns.size());
  std::vector<CsvCell> row;
  std::vector<std::string> fields;
  while (next_csv_row(reader, layout.fields, fields)) {
    row.clear();
    for (std::size_t i = 0; i < layout.features.size(); ++i) {
      row.push_back(cell_of(reader, fields[layout.features[i]], table.columns[i]));
      watches[i].add(row.back());
    }
    table.cells.append(row);
    table.labels.append(reader, fields[layout.label]);
  }
  if (table.rows() == 0) fail_without_rows(reader);
  for (std::size_t i = 0; i < watches.size(); ++i) {
    table.columns[i].row_id = watches[i].found(table.columns[i]);
  }
  warn_of_values_as_names(table, layout.features);
  warn_of_other_numbers(table);
  warn_of_mixed_decimals(table.labels.file, table.columns, table.warnings);
  warn_of_texts_among_numbers(table);
  return table;
}

std::vector<std::string> sorted_classes(const std::vector<std::string>& labels) {
  const std::unordered_set<std::string_view> distinct(labels.begin(), labels.end());
  std::vector<std::string> classes(distinct.begin(), distinct.end());
  std::ranges::sort(classes);
  const auto number = [](const std::string& text) { return whole_number<std::int64_t>(text); };
  const auto is_number = [&](const std::string& text) { return number(text).has_value(); };
  if (std::ranges::all_of(classes, is_number)) std::ranges::stable_sort(classes, {}, number);
  return classes;
}

std::vector<int> class_numbers(const RowLabels& labels, const std::vector<std::string>& classes) {
  std::unordered_map<std::string_view, int> numbers;
  for (const std::string& name : classes) numbers.emplace(name, static_cast<int>(numbers.size()));
  std::vector<int> result;
  result.reserve(labels.rows());
  for (std::size_t row = 0; row < labels.texts.size(); ++row) {
    const auto found = numbers.find(labels.texts[row]);
    if (found == numbers.end()) {
      labels.fail(row, fmt::format("class {} is not in the training rows", in_quotes(labels.texts[row])));
    }
    result.push_back(found->second);
  }
  return result;
}

std::vector<double> label_numbers(const RowLabels& labels) {
  std::vector<double> result;
  result.reserve(labels.rows());
  for (std::size_t row = 0; row < labels.texts.size(); ++row) {
    const std::optional<double> number = csv_number(labels.texts[row], labels.separator);
    if (!number) labels.fail(row, in_quotes(labels.texts[row]) + " is not a finite number");
    result.push_back(*number);
  }
  return result;
}

}  // namespace lockstep
