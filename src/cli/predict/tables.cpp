#include "cli/predict/tables.h"

#include <algorithm>
#include <utility>

#include "data/sets/csv_dataset.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Data sets of the same encoding, one after the other.
class Rows final : public Dataset {
 public:
  explicit Rows(std::size_t elements) : elements_(elements) {}
  void append(std::unique_ptr<Dataset> table) {
    ends_.push_back(size() + table->size());
    tables_.push_back(std::move(table));
  }

  std::uint64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  Shape shape() const override { return {.channels = static_cast<int>(elements_)}; }
  int classes() const override { return 1; }
  Encoding encoding() const override { return Encoding::floats; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const auto [table, row] = find(id);
    return table->sample(row, buffer);
  }
  int label(std::uint64_t /*id*/) const override { return 0; }
  std::string sample_name(std::uint64_t id) const override {
    const auto [table, row] = find(id);
    return table->sample_name(row);
  }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> all;
    for (const auto& table : tables_) {
      for (std::string& line : table->warnings()) all.push_back(std::move(line));
    }
    return all;
  }

 private:
  /// Table of a row, and the row's number in it.
  std::pair<const Dataset*, std::uint64_t> find(std::uint64_t id) const {
    const auto table = static_cast<std::size_t>(std::ranges::upper_bound(ends_, id) - ends_.begin());
    return {tables_[table].get(), id - (table == 0 ? 0 : ends_[table - 1])};
  }

  std::size_t elements_;
  std::vector<std::unique_ptr<Dataset>> tables_;
  std::vector<std::uint64_t> ends_;  ///< of the tables' rows
};

}  // namespace

InputSamples read_tables(const std::vector<std::string>& files, const TableEncoding& encoding, bool strict) {
  auto rows = std::make_unique<Rows>(encoding.elements());
  InputSamples tables;
  for (const std::string& file : files) {
    try {
      rows->append(make_csv_dataset(encoding, read_encoded_table(CsvFile(file).reader(), encoding, ""),
                                    {.names = {"row"}}));
    } catch (const Error& error) {
      if (strict || error.category() != Category::data) throw;
      tables.unreadable.push_back({file, error.what()});
    }
  }
  tables.samples = std::move(rows);
  return tables;
}

}  // namespace lockstep
