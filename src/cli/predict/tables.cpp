#include "cli/predict/tables.h"

#include <utility>

#include "data/sets/csv_dataset.h"
#include "data/sets/whole.h"
#include "lockstep/error.h"

namespace lockstep {

InputSamples read_tables(const std::vector<std::string>& files, const TableEncoding& encoding, bool strict) {
  const RowTargets targets{.names = {"row"}};
  std::vector<std::unique_ptr<Dataset>> parts;
  InputSamples tables;
  for (const std::string& file : files) {
    try {
      parts.push_back(
          make_csv_dataset(encoding, read_encoded_table(CsvFile(file).reader(), encoding, ""), targets));
    } catch (const Error& error) {
      if (strict || error.category() != Category::data) throw;
      tables.unreadable.push_back({file, error.what()});
    }
  }
  if (parts.empty()) parts.push_back(make_csv_dataset(encoding, {}, targets));
  tables.samples = join(std::move(parts));
  return tables;
}

}  // namespace lockstep
