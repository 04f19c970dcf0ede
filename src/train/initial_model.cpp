#include "train/initial_model.h"

#include <fmt/format.h>

#include "core/options/text.h"
#include "core/printable.h"
#include "data/files/table_encoding.h"
#include "lockstep/error.h"
#include "train/run_description.h"

namespace lockstep {
namespace {

/// Describes the first difference between the columns of a model and of a run. Empty if the columns have the
/// same names, texts and missing values.
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
  const std::string found =
      difference(table_encoding_of(model, file).columns, table_encoding_of(run, "the data set").columns);
  if (!found.empty())
    throw Error(Category::data, fmt::format("{}: is a model of other columns: {}", file, found));
}

std::string outputs_text(const ModelDescription& description) {
  return description.classes.empty() ? "task " + description.task : first_names(description.classes);
}

/// A number for each channel. `values`: none, one for all channels, or these.
std::vector<double> of_channels(const std::vector<double>& values, int channels, double without) {
  if (values.size() > 1) return values;
  std::vector<double> all(static_cast<std::size_t>(channels), values.empty() ? without : values[0]);
  return all;
}

std::string option_text(const char* flag, const std::vector<double>& value) {
  return value.empty() ? fmt::format("no {}", flag) : fmt::format("{} {}", flag, value_text(value));
}

}  // namespace

InitialModel compare_initial_model(const std::string& file, const ModelDescription& model,
                                   const ModelDescription& run, bool reset_head) {
  if (model.digest.empty()) return {};  // not trained by lockstep: it says nothing of its data
  check_columns(file, model, run);
  InitialModel initial;
  const bool both_named = !model.classes.empty() && !run.classes.empty();
  initial.other_outputs = model.task != run.task || (both_named && model.classes != run.classes);
  if (initial.other_outputs && !reset_head) {
    initial.warnings.push_back(fmt::format(
        "{}: the last layer is kept, but was trained for {}; this run has {}; --reset-head reinitialises it",
        file, outputs_text(model), outputs_text(run)));
  }
  const auto compare = [&](const char* flag, const std::vector<double>& its, const std::vector<double>& own,
                           double without) {
    if (of_channels(its, run.shape.channels, without) == of_channels(own, run.shape.channels, without))
      return;
    initial.warnings.push_back(
        fmt::format("{}: was trained with {}, but this run has {}: use the model's value", file,
                    option_text(flag, its), option_text(flag, own)));
  };
  compare("--mean", model.input.mean, run.input.mean, 0.0);
  compare("--std", model.input.deviation, run.input.deviation, 1.0);
  return initial;
}

}  // namespace lockstep
