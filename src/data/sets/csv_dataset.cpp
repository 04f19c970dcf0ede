#include "data/sets/csv_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/random/hash_integer.h"
#include "core/text/command_line.h"
#include "core/text/printable.h"
#include "data/files/number_scale.h"
#include "data/sets/held_out.h"
#include "data/sets/parts.h"
#include "data/sets/registry.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

class CsvDataset : public Dataset {
 public:
  CsvDataset(const TableEncoding& encoding, EncodedTable table, RowTargets targets)
      : encoding_(encoding),
        table_(std::move(table)),
        targets_(std::move(targets)),
        elements_(encoding.elements()),
        codes_are_elements_(encoding.codes_are_elements()) {
    std::vector<std::string>().swap(table_.labels.texts);
  }

  std::uint64_t size() const override { return table_.rows(); }
  Shape shape() const override { return {.channels = static_cast<int>(elements_)}; }
  int classes() const override { return static_cast<int>(targets_.names.size()); }
  Task task() const override { return targets_.task; }
  Encoding encoding() const override { return Encoding::floats; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const std::span<const float> codes = table_.codes[id];
    if (codes_are_elements_) return bytes_of(codes);
    const std::size_t bytes = elements_ * sizeof(float);
    if (buffer.size() < bytes) buffer.resize(bytes);
    const std::span<float> elements(reinterpret_cast<float*>(buffer.data()), elements_);
    encoding_.write_elements(codes, elements);
    return bytes_of(elements);
  }
  int label(std::uint64_t id) const override { return targets_.labels.empty() ? 0 : targets_.labels[id]; }
  std::span<const float> targets(std::uint64_t id) const override {
    return targets_.numbers.empty() ? std::span<const float>() : std::span(targets_.numbers).subspan(id, 1);
  }
  TargetScale target_scale() const override { return targets_.scale; }
  std::string sample_name(std::uint64_t id) const override {
    return fmt::format("{}: line {}", table_.labels.file, table_.labels.lines[id]);
  }
  std::vector<std::string> class_names() const override { return targets_.names; }
  std::vector<std::string> warnings() const override { return table_.warnings; }
  const TableEncoding* table_encoding() const override { return &encoding_; }

 private:
  static std::span<const std::uint8_t> bytes_of(std::span<const float> numbers) {
    const auto bytes = std::as_bytes(numbers);
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  }

  TableEncoding encoding_;
  EncodedTable table_;  ///< without the texts of the labels
  RowTargets targets_;
  std::size_t elements_;
  bool codes_are_elements_;
};

/// Whether a file seems to be a table. `name`: the file's name in lower case.
bool is_table_name(std::string_view name) {
  return (name.ends_with(".csv") || name.ends_with(".tsv")) && !name.starts_with('.');
}

/// Throws for a folder without train.csv, naming a table in this folder if there is one.
void check_train_file(const std::filesystem::path& place) {
  if (file_kind(place) != FileKind::folder || file_kind(place / "train.csv") != FileKind::missing) return;
  const std::vector<std::string> names = list_folder(place);
  const auto is_train = [](const std::string& name) {
    return is_table_name(name) && std::filesystem::path(name).stem() == "train";
  };
  const auto misnamed = std::ranges::find_if(names, is_train, in_small_letters);
  if (misnamed != names.end()) {
    throw Error(Category::data,
                fmt::format("no train.csv in {}: rename {}: the tables of the parts are named train.csv, "
                            "val.csv and test.csv, in small letters, also if tabs separate their cells",
                            place.string(), printable(*misnamed)),
                "data-dir");
  }
  const auto may_be_whole = [](const std::string& name) {
    return is_table_name(name) && !name.starts_with("test.") && !name.starts_with("val");
  };
  const auto table = std::ranges::find_if(names, may_be_whole, in_small_letters);
  throw Error(Category::data,
              fmt::format("no train.csv in {}{}", place.string(),
                          table == names.end() ? ""
                                               : "; to hold out a part of one table, give " +
                                                     shell_line({"--data-dir", (place / *table).string(),
                                                                 "--test-fraction", "0.2"})),
              "data-dir");
}

void check_place(const DatasetOptions& options) {
  if (!options.directory.empty()) return;
  throw Error(Category::usage, "data set 'csv' has no default folder: name that of train.csv and test.csv",
              "data-dir");
}

/// Finds the tables of all parts. `place` is the training table, or a folder of tables.
Parts<std::filesystem::path> find_tables(const std::filesystem::path& place) {
  const FileKind kind = file_kind(place);
  if (kind == FileKind::other || kind == FileKind::missing) {
    const char* const what = kind == FileKind::missing ? "no such file or folder"
                                                       : "is neither a regular file nor a folder of tables";
    throw Error(Category::data, fmt::format("{}: {}", place.string(), what), "data-dir");
  }
  if (kind == FileKind::file) return {.train = place};
  return {.train = find_part(place, Part::train, ".csv"),
          .validation = find_part(place, Part::validation, ".csv"),
          .test = find_part(place, Part::test, ".csv")};
}

/// Warning about tables in a folder that are not among `parts`; empty if there are none or the folder cannot
/// be listed.
std::string skipped_tables_warning(const std::filesystem::path& folder,
                                   const Parts<std::filesystem::path>& parts) {
  std::vector<std::string> names;
  if (files().list(folder, names) != 0) return {};
  std::erase_if(names, [&](const std::string& name) {
    return !is_table_name(in_small_letters(name)) || name == parts.train.filename() ||
           name == parts.validation.filename() || name == parts.test.filename();
  });
  if (names.empty()) return {};
  std::ranges::sort(names);
  return fmt::format("{}: {} skipped, not named train.csv, val.csv or test.csv; the first is {}",
                     folder.string(), counted(names.size(), "table"), printable(names[0]));
}

/// Throws Error(usage) if there is neither a test nor a validation table.
void check_tested(const std::filesystem::path& place, const Parts<std::filesystem::path>& files) {
  if (!files.test.empty() || !files.validation.empty()) return;
  const bool is_file = files.train == place;
  throw Error(Category::usage,
              fmt::format("{} {}: give --test-fraction 0.2 to test with a fifth of {} rows, or the folder of "
                          "train.csv and test.csv",
                          place.string(), is_file ? "is a file" : "has train.csv, but no test.csv",
                          is_file ? "its" : "the"),
              "data-dir");
}

DatasetPair open_tables(const std::filesystem::path& place, const DatasetOptions& options, DataUse use) {
  const Parts<std::filesystem::path> tables = find_tables(place);
  const double test_fraction = test_share(tables.test, options.test_fraction, use);
  const bool holds_out = test_fraction > 0.0;
  if (use == DataUse::training && !holds_out) check_tested(place, tables);
  CsvTable train = parse_csv_table(CsvFile(tables.train).reader(), {.label_column = options.label_column,
                                                                    .drop_columns = options.drop_columns});
  std::optional<CsvTable> held_out;
  if (holds_out) held_out = split_off_test_rows(train, test_fraction, options.task, use);
  const TableEncoding encoding = fit_table_encoding(train);
  const auto read_part = [&](const std::filesystem::path& file) -> std::optional<EncodedTable> {
    if (file.empty()) return {};
    return read_encoded_table(CsvFile(file).reader(), encoding, encoding.label_column);
  };
  EncodedTable encoded = encode_table(std::move(train), encoding);
  if (use == DataUse::training && tables.train != place) {
    const std::string skipped = skipped_tables_warning(place, tables);
    if (!skipped.empty()) encoded.warnings.push_back(skipped);
  }
  std::optional<EncodedTable> test = read_part(tables.test), validation = read_part(tables.validation);
  if (held_out) test = encode_table(std::move(*held_out), encoding);
  DatasetPair pair =
      make_csv_datasets(options.task, encoding, std::move(encoded), std::move(test), std::move(validation));
  pair.test_origin = holds_out ? origin_of_fraction(test_fraction) : tables.test.string();
  pair.validation_origin = tables.validation.string();
  return pair;
}

std::vector<std::uint64_t> row_keys(std::size_t rows) {
  std::vector<std::uint64_t> keys(rows);
  for (std::size_t row = 0; row < rows; ++row) keys[row] = hash_integer(row).low;
  return keys;
}

[[noreturn]] void fail_labels(const RowLabels& labels, const std::string& what) {
  throw Error(Category::data, fmt::format("{}: column {}: {}", labels.file, in_quotes(labels.column), what));
}

/// Names of the classes in the training rows. Throws Error(data) for a single class or an invalid name.
std::vector<std::string> class_names_of(const RowLabels& labels) {
  std::vector<std::string> names = sorted_classes(labels.texts);
  const auto bad = std::ranges::find_if(labels.texts, has_control_characters);
  if (bad != labels.texts.end()) {
    labels.fail(static_cast<std::size_t>(bad - labels.texts.begin()),
                fmt::format("class {} has control characters in its name", in_quotes(*bad)));
  }
  if (names.size() == 1) {
    fail_labels(labels, fmt::format("only one class, {}, in all training rows", in_quotes(names[0])));
  }
  return names;
}

/// Mean and deviation of the training rows' labels.
TargetScale scale_of(const RowLabels& labels) {
  const std::vector<double> numbers = label_numbers(labels);
  NumberSums sums;
  for (const double number : numbers) sums.add(number);
  NumberScale scale(sums);
  for (const double number : numbers) scale.add(number);
  const TargetScale result = scale.result(labels.file, labels.column);
  if (result.deviation == 0.0) {
    fail_labels(labels, fmt::format("the number to predict is {} in all training rows", numbers[0]));
  }
  return result;
}

/// Warns of labels that are numbers, some with a decimal comma and some with a decimal point.
void warn_of_mixed_labels(EncodedTable& table) {
  const RowLabels& labels = table.labels;
  std::vector<CsvColumn> column(1);
  column[0].name = labels.column;
  for (std::size_t row = 0; row < labels.texts.size(); ++row) {
    const std::string& text = labels.texts[row];
    const std::optional<double> number = csv_number(text, labels.separator);
    if (number) column[0].spellings.add(text, *number, labels.lines[row]);
  }
  warn_of_mixed_decimals(labels.file, column, table.warnings);
}

RowTargets numbers_of(const RowLabels& labels, const TargetScale& scale) {
  RowTargets targets{.task = Task::regression, .names = {labels.column}, .scale = scale};
  for (const double number : label_numbers(labels)) {
    targets.numbers.push_back(
        static_cast<float>(std::clamp((number - scale.mean) / scale.deviation, -3e38, 3e38)));
  }
  return targets;
}

/// Data set of a table whose labels are the classes `names` or, if `names` is empty, numbers to be scaled by
/// `scale`.
std::unique_ptr<Dataset> make_labelled_dataset(const TableEncoding& encoding, EncodedTable table,
                                               const std::vector<std::string>& names,
                                               const TargetScale& scale) {
  if (names.empty()) warn_of_mixed_labels(table);
  RowTargets targets = names.empty()
                           ? numbers_of(table.labels, scale)
                           : RowTargets{.names = names, .labels = class_numbers(table.labels, names)};
  return make_csv_dataset(encoding, std::move(table), std::move(targets));
}

}  // namespace

std::unique_ptr<Dataset> make_csv_dataset(const TableEncoding& encoding, EncodedTable table,
                                          RowTargets targets) {
  return std::make_unique<CsvDataset>(encoding, std::move(table), std::move(targets));
}

CsvTable split_off_test_rows(CsvTable& table, double fraction, Task task, DataUse use) {
  const auto without_rows = [&] {
    return CsvTable{.labels = {.file = table.labels.file,
                               .separator = table.labels.separator,
                               .column = table.labels.column},
                    .columns = table.columns,
                    .cells = RowBlocks<CsvCell>(table.columns.size())};
  };
  CsvTable train = without_rows(), test = without_rows();
  train.warnings = std::move(table.warnings);
  for (CsvColumn& column : test.columns) {  // the warnings about these are given for `train`
    column.row_id = false;
    column.spellings = {};
  }
  const std::vector<int> classes = task == Task::regression
                                       ? std::vector<int>(table.rows())
                                       : class_numbers(table.labels, sorted_classes(table.labels.texts));
  const std::vector<bool> is_test = held_out(classes, row_keys(table.rows()), fraction);
  std::size_t row = 0;
  table.cells.consume([&](std::span<const CsvCell> cells) {
    CsvTable& part = is_test[row] ? test : train;
    part.cells.append(cells);
    part.labels.texts.push_back(std::move(table.labels.texts[row]));
    part.labels.lines.push_back(table.labels.lines[row]);
    ++row;
  });
  if (test.rows() == 0) {
    const bool all_differ =
        use == DataUse::training && row > 1 && std::set(classes.begin(), classes.end()).size() == row;
    throw Error(
        Category::data,
        fmt::format("{}: a test fraction of {} of {} leaves none to test{}", table.labels.file, fraction,
                    counted(row, "row"),
                    all_differ ? ": each row has a class of its own; --task regression predicts numbers"
                               : without_test_advice(use)));
  }
  table = std::move(train);
  return test;
}

DatasetPair make_csv_datasets(Task task, const TableEncoding& encoding, EncodedTable train,
                              std::optional<EncodedTable> test, std::optional<EncodedTable> validation) {
  const bool numbers = task == Task::regression;
  const TargetScale scale = numbers ? scale_of(train.labels) : TargetScale();
  const std::vector<std::string> names = numbers ? std::vector<std::string>() : class_names_of(train.labels);
  const auto dataset_of = [&](EncodedTable table) {
    return make_labelled_dataset(encoding, std::move(table), names, scale);
  };
  DatasetPair pair;
  pair.train = dataset_of(std::move(train));
  if (test) pair.test = dataset_of(std::move(*test));
  if (validation) pair.validation = dataset_of(std::move(*validation));
  return pair;
}

std::vector<std::unique_ptr<Dataset>> read_labelled_tables(const DatasetOptions& options,
                                                           const TrainedTable& model) {
  check_place(options);
  const std::string& label_column =
      options.label_column.empty() ? model.encoding.label_column : options.label_column;
  const auto [train, validation, test] = find_tables(options.directory);
  std::vector<std::unique_ptr<Dataset>> tables;
  for (const std::filesystem::path& file : {train, validation, test}) {
    if (file.empty()) continue;
    EncodedTable table = read_encoded_table(CsvFile(file).reader(), model.encoding, label_column);
    tables.push_back(make_labelled_dataset(model.encoding, std::move(table), model.classes, model.scale));
  }
  if (tables.empty()) {
    throw Error(Category::data, fmt::format("no train.csv, val.csv or test.csv in {}", options.directory),
                "data-dir");
  }
  return tables;
}

/// Tables DIR/train.csv, DIR/val.csv and DIR/test.csv; val.csv or test.csv may be missing. With a test
/// fraction, both may be missing, and the directory option may name the training table instead of a folder.
/// Every rank has a copy of the data.
DatasetPair open_csv(const World& world, const DatasetOptions& options, DataUse use) {
  DatasetPair pair;
  world.agree([&] {
    check_place(options);
    check_train_file(options.directory);
    if (options.task == Task::multilabel) {
      throw Error(Category::usage, "a table has one label column: classification or regression", "task");
    }
    pair = open_tables(options.directory, options, use);
  });
  return pair;
}

}  // namespace lockstep
