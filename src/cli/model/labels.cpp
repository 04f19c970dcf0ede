#include "cli/model/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cli/options/flag.h"
#include "core/text/printable.h"
#include "data/files/csv_cell.h"
#include "data/files/csv_table.h"
#include "data/files/table_encoding.h"

namespace lockstep {

std::vector<std::string> names_of_classes(const Dataset& dataset, std::size_t classes) {
  std::vector<std::string> names = dataset.class_names();
  for (std::size_t c = names.size(); c < classes; ++c) {
    names.push_back(std::to_string(c));
  }
  return names;
}

std::string similar_classes_text(const Dataset& dataset) {
  // By the number, or the text in small letters. Longer numbers may be equal as doubles, but not as written.
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
  constexpr std::size_t columns = 100;
  const std::string start(indent, ' ');
  std::string text;
  std::string line = start;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const std::string item =
        fmt::format("{} {}{}", printable(names[c]), counts[c], c + 1 < counts.size() ? "," : "");
    if (line.size() > indent && line.size() + 1 + item.size() > columns) {
      text += line + "\n";
      line = start;
    }
    line += (line.size() > indent ? " " : "") + item;
  }
  return text + line + "\n";
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
