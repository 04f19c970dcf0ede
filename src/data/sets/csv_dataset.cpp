#include "data/sets/csv_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "core/files/file.h"
#include "core/hash.h"
#include "core/printable.h"
#include "core/random/hash_integer.h"
#include "data/sets/registry.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

class CsvDataset : public Dataset {
 public:
  CsvDataset(CsvTable table, const std::vector<std::string>& classes, const CsvStatistics& statistics)
      : name_(table.name),
        classes_(classes),
        lines_(std::move(table.lines)),
        values_(standardized(table.values, statistics)),
        features_(table.features.size()) {
    std::unordered_map<std::string_view, int> numbers;
    for (const std::string& name : classes) numbers.emplace(name, static_cast<int>(numbers.size()));
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto found = numbers.find(table.labels[row]);
      if (found == numbers.end()) {
        throw Error(Category::data,
                    fmt::format("{}: line {}, column {}: class {} is not in the training rows", table.name,
                                lines_[row], in_quotes(table.label_column), in_quotes(table.labels[row])));
      }
      labels_.push_back(found->second);
    }
  }

  std::uint64_t size() const override { return labels_.size(); }
  Shape shape() const override { return {.channels = static_cast<int>(features_)}; }
  int classes() const override { return static_cast<int>(classes_.size()); }
  Encoding encoding() const override { return Encoding::floats; }
  std::span<const std::uint8_t> sample(std::uint64_t id,
                                       std::vector<std::uint8_t>& /*buffer*/) const override {
    const auto row = std::as_bytes(values_[id]);
    return {reinterpret_cast<const std::uint8_t*>(row.data()), row.size()};
  }
  int label(std::uint64_t id) const override { return labels_[id]; }
  std::string sample_name(std::uint64_t id) const override {
    return fmt::format("{}: line {}", name_, lines_[id]);
  }
  std::vector<std::string> class_names() const override { return classes_; }

 private:
  std::string name_;
  std::vector<std::string> classes_;
  std::vector<std::size_t> lines_;
  RowBlocks<float> values_;
  std::size_t features_;
  std::vector<int> labels_;
};

/// Reads a table without ever holding its whole text.
CsvTable read_table(const std::filesystem::path& path, const std::string& label_column) {
  const InputFile file(path);
  std::uint64_t at = 0;
  CsvReader reader(
      [&](std::span<char> part) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), file.size() - at));
        file.read(at, std::as_writable_bytes(part.first(count)));
        at += count;
        return count;
      },
      path.string());
  return parse_csv_table(reader, label_column);
}

DatasetPair open_tables(const std::filesystem::path& place, const DatasetOptions& options) {
  const FileKind kind = file_kind(place);
  if (kind == FileKind::other) {
    throw Error(Category::data,
                fmt::format("{}: is neither a regular file nor a folder of tables", place.string()),
                "data-dir");
  }
  const bool is_file = kind == FileKind::file;
  const std::filesystem::path test_file = place / "test.csv";
  if (options.test_fraction > 0.0) {
    if (!is_file && file_kind(test_file) != FileKind::missing) {
      throw Error(Category::usage,
                  fmt::format("has no effect, as {} exists: omit it, or name one file instead of the folder",
                              test_file.string()),
                  "test-fraction");
    }
    CsvTable train = read_table(is_file ? place : place / "train.csv", options.label_column);
    CsvTable test = split_off_test_rows(train, options.test_fraction);
    return make_csv_datasets(std::move(train), std::move(test));
  }
  if (is_file) {
    throw Error(
        Category::usage,
        fmt::format(
            "{} is a file: give a test fraction, the share of its rows to test with, or the folder of "
            "train.csv and test.csv",
            place.string()),
        "data-dir");
  }
  CsvTable train = read_table(place / "train.csv", options.label_column);
  CsvTable test = read_table(test_file, train.label_column);
  return make_csv_datasets(std::move(train), std::move(test));
}

}  // namespace

CsvTable split_off_test_rows(CsvTable& table, double fraction) {
  const auto without_rows = [&] {
    return CsvTable{.name = table.name,
                    .features = table.features,
                    .label_column = table.label_column,
                    .values = RowBlocks<double>(table.features.size())};
  };
  CsvTable train = without_rows(), test = without_rows();
  std::size_t row = 0;
  table.values.consume([&](std::span<const double> numbers) {
    CsvTable& part = in_unit_interval(hash_integer(row).low) < fraction ? test : train;
    part.values.append(numbers);
    part.labels.push_back(std::move(table.labels[row]));
    part.lines.push_back(table.lines[row]);
    ++row;
  });
  if (train.rows() == 0 || test.rows() == 0) {
    throw Error(Category::data, fmt::format("{}: a test fraction of {} of {} rows leaves none to {}",
                                            table.name, fraction, row, test.rows() == 0 ? "test" : "train"));
  }
  table = std::move(train);
  return test;
}

DatasetPair make_csv_datasets(CsvTable train, CsvTable test) {
  if (test.features != train.features || test.label_column != train.label_column) {
    throw Error(Category::data, fmt::format("{}: line 1: other columns than in {}", test.name, train.name));
  }
  const std::vector<std::string> classes = sorted_classes(train.labels);
  if (classes.size() == 1) {
    throw Error(Category::data,
                fmt::format("{}: column {}: only one class, {}, in all training rows", train.name,
                            in_quotes(train.label_column), in_quotes(classes[0])));
  }
  const CsvStatistics statistics = csv_statistics(train);
  DatasetPair pair;
  pair.train = std::make_unique<CsvDataset>(std::move(train), classes, statistics);
  pair.test = std::make_unique<CsvDataset>(std::move(test), classes, statistics);
  return pair;
}

/// Tables of numbers: DIR/train.csv and DIR/test.csv; with a test fraction, the file that the directory
/// option names, or DIR/train.csv. Every rank has its own copy.
DatasetPair open_csv(const World& world, const DatasetOptions& options) {
  DatasetPair pair;
  world.agree([&] {
    if (options.directory.empty()) {
      throw Error(Category::usage,
                  "data set 'csv' has no default folder: name that of train.csv and test.csv", "data-dir");
    }
    pair = open_tables(options.directory, options);
  });
  return pair;
}

}  // namespace lockstep
