#include "data/files/table_encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/text/command_line.h"
#include "core/text/nearest.h"
#include "core/text/printable.h"
#include "data/files/number_scale.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr float gap_code = std::numeric_limits<float>::quiet_NaN();
constexpr float unknown_text_code = -1.0F;

/// Text for a number in a column of texts, the same for all spellings of the number.
std::string number_text(double number) { return fmt::format("{}", number + 0.0); }  // -0 becomes 0

/// Throws for a text in a column of numbers.
[[noreturn]] void refuse_text(const RowLabels& labels, std::size_t line, const std::string& column,
                              std::string_view text) {
  const bool predicts = labels.column.empty();  // a model that predicts needs all columns
  throw Error(
      Category::data,
      fmt::format("{}: line {}, column {}: {} is not a finite number, but the column has numbers: {}{}",
                  labels.file, line, in_quotes(column), in_quotes(text),
                  is_other_number(text) ? "write numbers like 1234.5" : "correct it",
                  predicts ? " or leave the cell empty"
                           : ", leave the cell empty, or leave out the column (--drop-columns)"));
}

/// Contents of a column in the training rows.
struct ColumnContents {
  static constexpr std::size_t most_mixed = NumberSpellings::most;

  NumberSums numbers = {};
  std::size_t gaps = 0;
  bool fractions = false;
  bool rest = false;                 ///< whether there are texts without a position
  std::set<double> few_numbers;      ///< up to most_mixed + 1 distinct numbers
  std::set<std::uint32_t> texts;     ///< up to most_column_texts + 1 positions
  std::optional<std::size_t> first;  ///< row of the first text

  void add(CsvCell cell, std::size_t row) {
    if (cell.is_gap()) {
      ++gaps;
    } else if (cell.is_number()) {
      numbers.add(cell.number());
      fractions = fractions || std::trunc(cell.number()) != cell.number();
      if (!fractions && few_numbers.size() <= most_mixed) few_numbers.insert(cell.number());
    } else {
      if (!first) first = row;
      rest = rest || cell.text() == CsvTexts::rest;
      if (cell.text() != CsvTexts::rest && texts.size() <= most_column_texts) texts.insert(cell.text());
    }
  }
  bool too_many_texts() const { return rest || texts.size() > most_column_texts; }
  /// Whether a column with both numbers and texts is a column of texts.
  bool mixed() const { return !fractions && few_numbers.size() + texts.size() <= most_mixed; }
};

std::vector<ColumnContents> contents_of(const CsvTable& table) {
  std::vector<ColumnContents> columns(table.columns.size());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(table.cells[row][i], row);
  }
  return columns;
}

/// Text of a cell of `column`; "..." for a text that is not in the list of the column.
std::string text_of_cell(const CsvColumn& column, CsvCell cell) {
  if (cell.is_number()) return number_text(cell.number());
  return cell.text() == CsvTexts::rest ? "..." : column.texts[cell.text()];
}

/// Reason why a column cannot be encoded (empty: it can), and advice.
struct Refusal {
  std::string reason = {};
  std::string advice = {};
};

Refusal refusal_of(const CsvTable& table, std::size_t i, const ColumnContents& contents) {
  if (contents.numbers.count == 0 && !contents.first) return {"has no value in any training row", ""};
  if (!contents.first) return {};
  const CsvColumn& column = table.columns[i];
  const std::string example =
      fmt::format("{} in line {}", in_quotes(text_of_cell(column, table.cells[*contents.first][i])),
                  table.labels.lines[*contents.first]);
  const auto is_date = [&](std::uint32_t position) { return is_csv_date(column.texts[position]); };
  if (contents.numbers.count == 0 && !contents.texts.empty() &&
      std::ranges::all_of(contents.texts, is_date)) {
    return {fmt::format("has dates or times ({})", example),
            "replace dates by numbers, such as the year, the month, the hour or the days since a start"};
  }
  if (contents.too_many_texts()) {
    const bool many = contents.texts.size() > most_column_texts;
    const std::string number = other_number_in(column.texts);
    return {many ? fmt::format("has more than {} different texts ({}, ...)", most_column_texts, example)
                 : "has texts of more than a megabyte",
            number.empty() ? "replace the texts by fewer groups"
                           : "write numbers like 1234.5" + semicolon_advice(number)};
  }
  return {};
}

/// Advice to leave columns out with the option --drop-columns, quoted for a shell. `what`: "it" or "them".
std::string drop_advice(std::vector<std::string> names, const char* what) {
  for (std::string& name : names) {
    if (name.find(",,") != std::string::npos) {  // the option discards empty parts
      return fmt::format("rename columns with ',,' in the name, and leave {} out with --drop-columns", what);
    }
    if (name.find(',') != std::string::npos) name = fmt::format("\"{}\"", name);
  }
  return fmt::format("leave {} out with {}", what,
                     shell_line({"--drop-columns", fmt::format("{}", fmt::join(names, ","))}));
}

/// Throws for columns that cannot be encoded.
void check_columns(const CsvTable& table, const std::vector<ColumnContents>& contents) {
  std::vector<std::string> names, reasons, advice;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const Refusal refusal = refusal_of(table, i, contents[i]);
    if (refusal.reason.empty()) continue;
    names.push_back(table.columns[i].name);
    reasons.push_back(fmt::format("column {} {}", in_quotes(names.back()), refusal.reason));
    const bool known = std::ranges::find(advice, refusal.advice) != advice.end();
    if (!refusal.advice.empty() && !known) advice.push_back(refusal.advice);
  }
  if (!names.empty()) {
    constexpr std::size_t most_reasons = 6;
    if (reasons.size() > most_reasons) {
      reasons.resize(most_reasons - 1);
      reasons.push_back(fmt::format("and {} more columns", names.size() - reasons.size()));
    }
    advice.insert(advice.begin(), drop_advice(names, names.size() == 1 ? "it" : "them"));
    throw Error(Category::data, fmt::format("{}: {}: {}", table.labels.file, fmt::join(reasons, ", "),
                                            fmt::join(advice, ", or ")));
  }
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (contents[i].numbers.count == 0 || !contents[i].first || contents[i].mixed()) continue;
    const std::size_t row = *contents[i].first;
    refuse_text(table.labels, table.labels.lines[row], table.columns[i].name,
                text_of_cell(table.columns[i], table.cells[row][i]));
  }
}

/// Texts of a column, ascending; empty if the column has numbers only.
std::vector<std::string> texts_of_column(const CsvColumn& column, const ColumnContents& contents) {
  if (contents.texts.empty()) return {};
  std::set<std::string> texts;
  for (const double number : contents.few_numbers) texts.insert(number_text(number));
  for (const std::uint32_t position : contents.texts) texts.insert(column.texts[position]);
  return {texts.begin(), texts.end()};
}

/// Computes the codes of a table's cells while the table is read or encoded.
class CellCodes {
 public:
  CellCodes(const TableEncoding& encoding, const RowLabels& labels)
      : encoding_(encoding), labels_(labels), positions_(encoding.columns.size()) {
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      for (const std::string& text : encoding.columns[i].texts) {
        positions_[i].emplace(text, static_cast<float>(positions_[i].size()));
      }
    }
  }

  float of_gap(std::size_t i) const {
    const TableColumn& column = encoding_.columns[i];
    return column.texts.empty() && !column.gaps ? 0.0F : gap_code;  // 0 is the code of the mean
  }
  /// Code of a cell of column `i` that is a finite number.
  float of_number(std::size_t i, std::size_t line, double number) {
    const TableColumn& column = encoding_.columns[i];
    if (!column.texts.empty()) return of_text(i, line, number_text(number));
    if (column.deviation == 0.0) return 0.0F;
    constexpr double most = 3e38;  // fits into a float
    const double code = (number - column.mean) / column.deviation;
    if (std::fabs(code) > most && huge_++ == 0) {
      first_huge_ = fmt::format("{} in line {}, column {}", number, line, in_quotes(column.name));
    }
    return static_cast<float>(std::clamp(code, -most, most));
  }
  float of_text(std::size_t i, std::size_t line, std::string_view text) {
    const TableColumn& column = encoding_.columns[i];
    if (column.texts.empty()) refuse_text(labels_, line, column.name, text);
    const auto found = positions_[i].find(text);
    if (found != positions_[i].end()) return found->second;
    if (unknown_++ == 0) {
      first_unknown_ = fmt::format("{} in line {}, column {}", in_quotes(text), line, in_quotes(column.name));
    }
    return unknown_text_code;
  }

  /// Appends lines about texts that the training rows do not have, and numbers that do not fit into a float.
  void warn(std::vector<std::string>& warnings) const {
    if (unknown_ > 0) {
      const bool one = unknown_ == 1;
      warnings.push_back(
          fmt::format("{}: {} that no training row has in that column ({}{}): {} as none of its texts",
                      labels_.file, one ? "a cell has a text" : fmt::format("{} cells have texts", unknown_),
                      first_unknown_, one ? "" : ", ...", one ? "it counts" : "they count"));
    }
    if (huge_ > 0) {
      const bool one = huge_ == 1;
      warnings.push_back(fmt::format("{}: {} too far from the training rows for a float ({}{}): correct {}",
                                     labels_.file, one ? "a number is" : fmt::format("{} numbers are", huge_),
                                     first_huge_, one ? "" : ", ...", one ? "it" : "them"));
    }
  }

 private:
  const TableEncoding& encoding_;
  const RowLabels& labels_;
  std::vector<std::map<std::string_view, float>> positions_;  ///< [column]; empty for columns of numbers
  std::uint64_t unknown_ = 0;
  std::string first_unknown_ = {};
  std::uint64_t huge_ = 0;
  std::string first_huge_ = {};
};

void warn_of_row_ids(const CsvTable& table, EncodedTable& encoded) {
  std::vector<std::string> names;
  for (const CsvColumn& column : table.columns) {
    if (column.row_id) names.push_back(column.name);
  }
  for (const std::string& name : names) {
    encoded.warnings.push_back(
        fmt::format("{}: column {} numbers the rows, or has a different text in each, and cannot say "
                    "anything about other rows: {}",
                    encoded.labels.file, in_quotes(name), drop_advice(names, "it")));
  }
}

/// Warns of columns of texts in which different spellings of a number count as one text. `columns` must be
/// the columns of the encoding.
void warn_of_equal_numbers(const std::vector<CsvColumn>& columns, const TableEncoding& encoding,
                           EncodedTable& encoded) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& equal = columns[i].spellings.equal_numbers();
    if (equal.empty() || encoding.columns[i].texts.empty()) continue;
    encoded.warnings.push_back(
        fmt::format("{}: column {}: the numbers {} count as one text: write them in one way or, if they "
                    "differ, with a letter before each",
                    encoded.labels.file, in_quotes(columns[i].name), equal));
  }
}

/// Names of the encoding's columns, and then of the label column, if there is one.
std::vector<std::string> needed_names(const TableEncoding& encoding, const std::string& label_column) {
  std::vector<std::string> names;
  for (const TableColumn& column : encoding.columns) names.push_back(column.name);
  if (!label_column.empty()) names.push_back(label_column);
  return names;
}

/// Position of each of the columns `names` in the records.
std::vector<std::size_t> find_columns(const CsvReader& reader, const std::vector<std::string>& header,
                                      const std::vector<std::string>& names) {
  std::map<std::string_view, std::size_t> positions;
  for (std::size_t i = 0; i < header.size(); ++i) positions.emplace(header[i], i);
  std::vector<std::size_t> found;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const auto position = positions.find(name);
    if (position == positions.end()) {
      missing.push_back(name);
    } else {
      found.push_back(position->second);
    }
  }
  if (missing.empty()) return found;
  const std::set<std::string_view> known(names.begin(), names.end());
  std::vector<std::string> unknown;  // one of these may be a missing column, misspelt
  std::ranges::copy_if(header, std::back_inserter(unknown),
                       [&](const std::string& name) { return !known.contains(name); });
  constexpr std::size_t most_listed = 12;
  const std::size_t count = missing.size();
  if (count > most_listed) missing.resize(most_listed);
  for (std::string& name : missing) name = in_quotes(name) + suggestion(name, unknown);
  throw Error(Category::data,
              fmt::format("{}: line {}: column{} of the training rows {} missing: {}{}", reader.name(),
                          reader.line(), count == 1 ? "" : "s", count == 1 ? "is" : "are",
                          fmt::join(missing, ", "), count > most_listed ? ", ..." : ""));
}

/// Fills in the means and deviations of the columns of numbers.
void find_scales(const CsvTable& train, const std::vector<ColumnContents>& contents,
                 TableEncoding& encoding) {
  std::vector<NumberScale> scales;
  for (const ColumnContents& column : contents) scales.emplace_back(column.numbers);
  for (std::size_t row = 0; row < train.rows(); ++row) {
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const CsvCell cell = train.cells[row][i];
      if (cell.is_number()) scales[i].add(cell.number());
    }
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    TableColumn& column = encoding.columns[i];
    if (!column.texts.empty()) continue;
    const TargetScale scale = scales[i].result(train.labels.file, column.name);
    column.mean = scale.mean;
    column.deviation = scale.deviation;
  }
}

}  // namespace

std::size_t TableEncoding::elements() const {
  std::size_t count = 0;
  for (const TableColumn& column : columns) count += column.elements();
  return count;
}

bool TableEncoding::codes_are_elements() const {
  return std::ranges::all_of(columns,
                             [](const TableColumn& column) { return column.texts.empty() && !column.gaps; });
}

void TableEncoding::write_elements(std::span<const float> codes, std::span<float> elements) const {
  auto element = elements.begin();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const float code = codes[i];
    const bool is_gap = std::isnan(code);
    const std::size_t texts = columns[i].texts.size();
    if (texts == 0) {
      *element++ = is_gap ? 0.0F : code;
    }
    for (std::size_t text = 0; text < texts; ++text) {
      *element++ = code == static_cast<float>(text) ? 1.0F : 0.0F;
    }
    if (columns[i].gaps) *element++ = is_gap ? 1.0F : 0.0F;
  }
}

TableEncoding fit_table_encoding(const CsvTable& train) {
  const std::vector<ColumnContents> contents = contents_of(train);
  check_columns(train, contents);
  TableEncoding encoding{.columns = {}, .label_column = train.labels.column};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    encoding.columns.push_back({.name = train.columns[i].name,
                                .texts = texts_of_column(train.columns[i], contents[i]),
                                .gaps = contents[i].gaps > 0});
  }
  find_scales(train, contents, encoding);
  return encoding;
}

EncodedTable encode_table(CsvTable table, const TableEncoding& encoding) {
  const std::size_t columns = encoding.columns.size();
  EncodedTable result{.labels = std::move(table.labels),
                      .codes = RowBlocks<float>(columns),
                      .warnings = std::move(table.warnings)};
  warn_of_row_ids(table, result);
  warn_of_equal_numbers(table.columns, encoding, result);
  CellCodes codes(encoding, result.labels);
  std::vector<float> row(columns);
  std::size_t number = 0;
  table.cells.consume([&](std::span<const CsvCell> cells) {
    const std::size_t line = result.labels.lines[number++];
    for (std::size_t i = 0; i < columns; ++i) {
      const CsvCell cell = cells[i];
      row[i] = cell.is_gap()      ? codes.of_gap(i)
               : cell.is_number() ? codes.of_number(i, line, cell.number())
                                  : codes.of_text(i, line, text_of_cell(table.columns[i], cell));
    }
    result.codes.append(row);
  });
  codes.warn(result.warnings);
  return result;
}

EncodedTable read_encoded_table(CsvReader& reader, const TableEncoding& encoding,
                                const std::string& label_column) {
  const std::vector<std::string> names = needed_names(encoding, label_column);
  const std::vector<std::string> header = read_csv_header(reader, names);
  const std::vector<std::size_t> positions = find_columns(reader, header, names);
  const std::size_t columns = encoding.columns.size();
  EncodedTable table{
      .labels = {.file = reader.name(), .separator = reader.separator(), .column = label_column},
      .codes = RowBlocks<float>(columns)};
  CellCodes codes(encoding, table.labels);
  std::vector<CsvColumn> read;
  for (const TableColumn& column : encoding.columns) read.push_back({.name = column.name});
  std::vector<float> row(columns);
  std::vector<std::string> fields;
  while (next_csv_row(reader, header.size(), fields)) {
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string_view text = without_spaces(fields[positions[i]]);
      const std::optional<double> number = csv_number(text, reader.separator());
      if (number) read[i].spellings.add(text, *number, reader.line());
      row[i] = is_csv_gap(text) ? codes.of_gap(i)
               : number         ? codes.of_number(i, reader.line(), *number)
                                : codes.of_text(i, reader.line(), text);
    }
    table.codes.append(row);
    table.labels.append(reader, label_column.empty() ? std::string_view() : fields[positions.back()]);
  }
  if (table.rows() == 0) fail_without_rows(reader);
  warn_of_mixed_decimals(table.labels.file, read, table.warnings);
  warn_of_equal_numbers(read, encoding, table);
  codes.warn(table.warnings);
  return table;
}

}  // namespace lockstep
