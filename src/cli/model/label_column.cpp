#include "cli/model/label_column.h"

#include <fmt/format.h>

#include "cli/options/flag.h"
#include "core/printable.h"
#include "data/files/csv_table.h"
#include "data/files/table_encoding.h"

namespace lockstep {

std::string label_column_text(const Dataset& dataset, const DatasetOptions& options) {
  const bool is_default = has_default_label_column(dataset, options);
  return fmt::format(
      "labels: column {}{}", in_quotes(dataset.table_encoding()->label_column),
      is_default ? fmt::format(", the last one; {} names another", flag_of(&DatasetOptions::label_column))
                 : "");
}

bool has_default_label_column(const Dataset& dataset, const DatasetOptions& options) {
  const TableEncoding* const table = dataset.table_encoding();
  return table != nullptr && options.label_column.empty() && table->label_column != usual_label_column;
}

}  // namespace lockstep
