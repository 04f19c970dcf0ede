#include "data/sets/images/label_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/text/nearest.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "core/text/utf8.h"
#include "data/files/csv_cell.h"
#include "data/files/csv_table.h"
#include "data/sets/images/image_list.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Cells of the columns that are not dropped. After take_images(), only the columns of labels remain.
struct LabelCells {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< [row][column], without outer spaces
};

[[noreturn]] void fail_table(const LabelTable& table, const std::string& what) {
  throw Error(Category::data, fmt::format("{}: {}", table.file, what));
}

[[noreturn]] void fail_line(const LabelTable& table, std::size_t line, const std::string& what) {
  fail_table(table, fmt::format("line {}: {}", line, what));
}

/// Reads all rows; stores their line numbers in `table`.
LabelCells read_cells(CsvReader& reader, const Names& drop_columns, LabelTable& table) {
  const std::vector<std::string> header = read_csv_header(reader);
  const std::vector<bool> dropped = dropped_columns(reader, header, drop_columns);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!dropped[i]) columns.push_back(i);
  }
  if (columns.size() < 2) {
    fail_line(table, reader.line(),
              "must have a column that names the images, and at least one with their classes or labels; "
              "columns are separated by commas, semicolons or tabs");
  }
  LabelCells cells;
  for (const std::size_t column : columns) cells.columns.push_back(header[column]);
  for (std::vector<std::string> fields; next_csv_row(reader, header.size(), fields);) {
    const auto text_of = [&](std::size_t column) {
      std::string text(without_spaces(fields[column]));
      if (!is_utf8(text)) {
        fail_line(table, reader.line(),
                  fmt::format("column {}: a text is not UTF-8", in_quotes(header[column])));
      }
      return text;
    };
    table.lines.push_back(reader.line());
    std::vector<std::string>& row = cells.rows.emplace_back();
    for (const std::size_t column : columns) row.push_back(text_of(column));
  }
  if (cells.rows.empty()) fail_without_rows(reader);
  return cells;
}

/// Position of the column with the names of the images, which must not be the column `classes`.
std::size_t find_image_column(const LabelCells& cells, std::optional<std::size_t> classes = {}) {
  for (std::size_t i = 0; i < cells.columns.size(); ++i) {
    if (classes != i && is_image_name(cells.rows[0][i])) return i;
  }
  return classes == std::size_t{0} ? 1 : 0;
}

/// Moves the names of the images from a column of `cells` to `table`.
void take_images(LabelTable& table, LabelCells& cells, std::size_t column) {
  const auto position = static_cast<std::ptrdiff_t>(column);
  table.image_column = cells.columns[column];
  cells.columns.erase(cells.columns.begin() + position);
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    std::string& image = cells.rows[row][column];
    if (image.empty()) {
      fail_line(table, table.lines[row], fmt::format("no image in column {}", in_quotes(table.image_column)));
    }
    table.images.push_back(std::move(image));
    cells.rows[row].erase(cells.rows[row].begin() + position);
  }
}

/// Moves the names of the images to `table`. Returns the position of the column of the classes.
std::size_t take_images_of_classes(LabelTable& table, LabelCells& cells, const std::string& label_column) {
  const auto named =
      std::ranges::find(cells.columns, label_column.empty() ? std::string(usual_label_column) : label_column);
  std::optional<std::size_t> classes;
  if (named != cells.columns.end()) {
    classes = static_cast<std::size_t>(named - cells.columns.begin());
  } else if (!label_column.empty()) {
    throw Error(
        Category::data,
        fmt::format("{}: line 1: {}", table.file, unknown_name("label column", label_column, cells.columns)),
        "label-column");
  }
  const std::size_t images = find_image_column(cells, classes);
  take_images(table, cells, images);
  if (classes) return *classes > images ? *classes - 1 : *classes;
  if (cells.columns.size() > 1) {
    throw Error(Category::usage,
                fmt::format("name the column of {} with the classes, or leave out columns with "
                            "--drop-columns: beside the images in column {} there are {}; lockstep train "
                            "--task multilabel takes any number of labels for each image",
                            table.file, in_quotes(table.image_column), first_names(cells.columns)),
                "label-column");
  }
  return 0;
}

bool is_binary(const std::string& cell) { return cell == "0" || cell == "1"; }

/// Separator of the names if there is a single column of names; 0 for columns of 0 and 1.
char separator_of(const LabelCells& cells) {
  if (cells.columns.size() > 1) return '\0';
  const auto cell = [](const std::vector<std::string>& row) -> const std::string& { return row[0]; };
  if (std::ranges::all_of(cells.rows, is_binary, cell)) return '\0';
  for (const char separator : {'|', ';', ','}) {
    const auto contains = [&](const std::string& text) { return text.find(separator) != std::string::npos; };
    if (std::ranges::any_of(cells.rows, contains, cell)) return separator;
  }
  return ' ';
}

/// Names of labels in a cell. Several spaces count as one.
std::vector<std::string> split_names(const LabelTable& table, std::size_t row, std::string_view cell) {
  std::vector<std::string> names;
  if (cell.empty()) return names;
  for (const std::string& part : split(cell, table.separator)) {
    const std::string_view name = without_spaces(part);
    if (name.empty() && table.separator == ' ') continue;
    if (name.empty()) {
      fail_line(table, table.lines[row], fmt::format("an empty label in {}", in_quotes(cell)));
    }
    names.emplace_back(name);
  }
  return names;
}

/// Sets the targets from columns of 0 and 1.
void read_columns(LabelTable& table, const LabelCells& cells) {
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    for (std::size_t k = 0; k < cells.columns.size(); ++k) {
      const std::string& cell = cells.rows[row][k];
      if (!is_binary(cell)) {
        fail_line(
            table, table.lines[row],
            fmt::format("column {}: {} is neither 0 nor 1; labels are columns of 0 and 1, or one column of "
                        "names; beside the images in column {} there are {}: leave out the others with "
                        "--drop-columns",
                        in_quotes(cells.columns[k]), in_quotes(cell), in_quotes(table.image_column),
                        first_names(cells.columns)));
      }
      table.targets.push_back(cell == "1" ? 1.0F : 0.0F);
    }
  }
}

/// Position of a label or class (`kind`) in the table's, which are in ascending order.
std::size_t label_position(const LabelTable& table, std::size_t row, const char* kind,
                           const std::string& name) {
  const auto found = std::ranges::lower_bound(table.labels, name);
  if (found == table.labels.end() || *found != name) {
    fail_line(table, table.lines[row], unknown_name(kind, name, table.labels));
  }
  return static_cast<std::size_t>(found - table.labels.begin());
}

/// Sets the targets from the label names in the only column; `table.labels` is complete.
void read_names(LabelTable& table, const LabelCells& cells) {
  const std::size_t count = table.labels.size();
  table.targets.resize(cells.rows.size() * count);
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    for (const std::string& name : split_names(table, row, cells.rows[row][0])) {
      table.targets[row * count + label_position(table, row, "label", name)] = 1.0F;
    }
  }
}

std::vector<std::string> names_in(const LabelTable& table, const LabelCells& cells) {
  std::set<std::string> names;
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    for (std::string& name : split_names(table, row, cells.rows[row][0])) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

[[noreturn]] void fail_without_labels(const LabelTable& table) { fail_table(table, "no image has a label"); }

void check_label_names(const LabelTable& table) {
  for (const std::string& label : table.labels) {
    if (!has_control_characters(label)) continue;
    fail_table(table, fmt::format("label {} has control characters in its name", in_quotes(label)));
  }
  if (table.labels.empty()) fail_without_labels(table);
}

}  // namespace

LabelTable read_label_table(CsvReader& reader, const Names& drop_columns, const LabelTable* train) {
  LabelTable table{.file = reader.name()};
  LabelCells cells = read_cells(reader, drop_columns, table);
  take_images(table, cells, find_image_column(cells));
  table.separator = train != nullptr ? train->separator : separator_of(cells);
  const bool has_names = table.separator != '\0';
  if (train != nullptr) {
    table.labels = train->labels;
  } else {
    table.labels = has_names ? names_in(table, cells) : cells.columns;
  }
  if (has_names ? cells.columns.size() != 1 : cells.columns != table.labels) {
    fail_line(table, 1, fmt::format("other columns of labels than in {}", train->file));
  }
  if (has_names) {
    read_names(table, cells);
  } else {
    read_columns(table, cells);
  }
  check_label_names(table);
  return table;
}

void check_several_labels(const LabelTable& table) {
  if (std::ranges::count(table.targets, 1.0F) == 0) fail_without_labels(table);
  if (table.labels.size() > 1) return;
  fail_table(table, fmt::format("only one label, {}; for images that have it and images that do not, use "
                                "--task classification with a folder for each",
                                in_quotes(table.labels[0])));
}

LabelTable read_class_table(CsvReader& reader, const CsvOptions& options, const LabelTable* train) {
  LabelTable table{.file = reader.name()};
  LabelCells cells = read_cells(reader, options.drop_columns, table);
  const std::size_t column = take_images_of_classes(table, cells, options.label_column);
  std::set<std::string> names;
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    const std::string& name = cells.rows[row][column];
    if (name.empty()) {
      fail_line(table, table.lines[row],
                fmt::format("no class in column {}; fill it in, or remove the row; lockstep train --task "
                            "multilabel takes any number of labels for each image",
                            in_quotes(cells.columns[column])));
    }
    if (names.insert(name).second) check_class_name(name, table.file);
  }
  table.labels = train != nullptr ? train->labels : std::vector<std::string>(names.begin(), names.end());
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    table.classes.push_back(static_cast<int>(label_position(table, row, "class", cells.rows[row][column])));
  }
  return table;
}

}  // namespace lockstep
