#include "cli/model/labels.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "cli/options/command_help.h"
#include "cli/options/flag.h"
#include "core/text/printable.h"
#include "data/files/csv_cell.h"
#include "data/files/csv_table.h"
#include "data/files/table_encoding.h"

namespace lockstep {

Names names_or_numbers(Names names, int classes) {
  std::size_t c = names.size();
  names.resize(static_cast<std::size_t>(classes));
  for (; c < names.size(); ++c) names[c] = std::to_string(c);
  return names;
}

Names names_of_classes(const Dataset& dataset, int classes) {
  return names_or_numbers(dataset.class_names(), classes);
}

std::string similar_classes_text(const Dataset& dataset) {
  // Keyed by the number, or by the text in lower case. Different long numbers may be equal as doubles, so
  // they count as texts.
  std::map<std::string, std::string> names;
  for (const std::string& name : dataset.class_names()) {
    const std::optional<double> number = csv_number(name, ',');
    std::string key = in_small_letters(name);
    if (number && name.size() <= 15) key = fmt::format("{}", *number + 0.0);  // -0 becomes 0
    const auto [other, is_new] = names.emplace(key, name);
    if (is_new) continue;
    return fmt::format("{} {} and {} count as two, but {}: if they mean the same, spell them in one way",
                       dataset.task() == Task::multilabel ? "labels" : "classes", in_quotes(other->second),
                       in_quotes(name), number ? "are equal as numbers" : "differ in case only");
  }
  return {};
}

std::vector<std::uint64_t> count_classes(const Dataset& dataset) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(dataset.classes()));
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    if (dataset.task() == Task::classification) {
      ++counts[static_cast<std::size_t>(dataset.label(id))];
    } else {
      const std::span<const float> targets = dataset.targets(id);
      for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += targets[k] > 0.5F ? 1 : 0;
    }
  }
  return counts;
}

std::string class_counts_text(const std::vector<std::string>& names, const std::vector<std::uint64_t>& counts,
                              std::size_t indent) {
  Names items;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const char* const separator = c + 1 < counts.size() ? "," : "";
    items.push_back(fmt::format("{} {}{}", printable(names[c]), counts[c], separator));
  }
  return wrap(items, indent);
}

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
