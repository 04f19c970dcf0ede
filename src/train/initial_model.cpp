#include "train/initial_model.h"

#include <fmt/format.h>

#include <tuple>

#include "core/json/json.h"
#include "core/options/text.h"
#include "core/printable.h"
#include "data/files/table_encoding.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::vector<TableColumn> columns_of(const ModelDescription& description, const std::string& origin) {
  TableEncoding encoding;
  if (description.table.empty()) return {};
  const JsonDocument document(description.table, {.file = origin + ": metadata 'table'"});
  document.read(document.root(), encoding);
  return encoding.columns;
}

/// How the columns of a model differ from those of a run; empty: they have the same names and texts.
std::string difference(const std::vector<TableColumn>& model, const std::vector<TableColumn>& run) {
  if (model.size() != run.size()) {
    return fmt::format("it has {}, the data set {}", counted(model.size(), "column"), run.size());
  }
  for (std::size_t i = 0; i < model.size(); ++i) {
    const TableColumn &its = model[i], &own = run[i];
    if (its.name != own.name) {
      return fmt::format("its column {} is {}, that of the data set {}", i + 1, in_quotes(its.name),
                         in_quotes(own.name));
    }
    if (its.texts != own.texts) {
      return fmt::format("its column {} has other texts than that of the data set", in_quotes(its.name));
    }
    if (its.gaps != own.gaps) {
      return fmt::format("its column {} has {}cells without value, that of the data set {}",
                         in_quotes(its.name), its.gaps ? "" : "no ", own.gaps ? "some" : "none");
    }
  }
  return {};
}

void check_columns(const std::string& file, const ModelDescription& model, const ModelDescription& run) {
  if (model.table.empty() != run.table.empty()) {
    throw Error(Category::data, fmt::format("{}: is a model of {}, the data set is one of {}", file,
                                            model.table.empty() ? "images" : "tables",
                                            run.table.empty() ? "images" : "tables"));
  }
  const std::string found = difference(columns_of(model, file), columns_of(run, "the data set"));
  if (!found.empty())
    throw Error(Category::data, fmt::format("{}: is a model of other columns: {}", file, found));
}

std::string outputs_text(const ModelDescription& description) {
  return description.classes.empty() ? "task " + description.task : first_names(description.classes);
}

std::string option_text(const char* flag, const std::vector<double>& value) {
  return value.empty() ? fmt::format("no {}", flag) : fmt::format("{} {}", flag, value_text(value));
}

}  // namespace

InitialModel compare_initial_model(const std::string& file, const ModelDescription& model,
                                   const ModelDescription& run, bool reset_head) {
  if (model.network.empty()) return {};  // a file of another program
  check_columns(file, model, run);
  InitialModel initial;
  const bool both_named = !model.classes.empty() && !run.classes.empty();
  initial.other_outputs = model.task != run.task || (both_named && model.classes != run.classes);
  if (initial.other_outputs && !reset_head) {
    initial.warnings.push_back(
        fmt::format("{}: its last layer, which is kept, predicts others ({}) than this run ({}); "
                    "--reset-head reinitialises it",
                    file, outputs_text(model), outputs_text(run)));
  }
  for (const auto& [flag, its, own] : {std::tuple("--mean", model.input.mean, run.input.mean),
                                       std::tuple("--std", model.input.deviation, run.input.deviation)}) {
    if (its == own) continue;
    initial.warnings.push_back(
        fmt::format("{}: was trained with {}, this run has {}: the former suits it better", file,
                    option_text(flag, its), option_text(flag, own)));
  }
  return initial;
}

}  // namespace lockstep
