#include "train/initial_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "core/options/text.h"
#include "core/text/command_line.h"
#include "core/text/printable.h"
#include "data/files/table_encoding.h"
#include "lockstep/error.h"
#include "run/facts.h"
#include "train/run_description.h"
#include "train/session/parameter_set.h"

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

/// Throws if the run's network has another name than the model's, and either lacks a parameter of the model
/// or, for samples of the same shape, has a parameter of another shape before the last layer.
void check_network(const std::string& file, const ModelDescription& model, const ModelDescription& run) {
  const std::string* const its_name = find_fact(model.options, "model");
  const std::string* const own_name = find_fact(run.options, "model");
  if (its_name == nullptr || own_name == nullptr || *its_name == *own_name) return;
  if (model.network.empty() || run.network.empty()) return;
  const std::unique_ptr<Network> its = make_network(model, file), own = make_network(run, "the run");
  const std::vector<Parameter>& known = own->parameters();
  const std::vector<int> head = head_parameters(*own);
  const auto fits = [&](const Parameter& parameter) {
    const auto found = std::ranges::find(known, parameter.name, &Parameter::name);
    if (found == known.end()) return false;
    if (found->shape == parameter.shape || model.shape != run.shape) return true;
    return std::ranges::find(head, static_cast<int>(found - known.begin())) != head.end();
  };
  if (std::ranges::all_of(its->parameters(), fits)) return;
  throw Error(Category::data, fmt::format("{}: is the model of {}: give {}", file, in_quotes(*its_name),
                                          shell_line({"--model", *its_name})));
}

/// The larger of the difference of the means, in units of the model's deviation, and the ratio of the larger
/// deviation to the smaller one, minus 1.
double scale_difference(const TargetScale& model, const TargetScale& run) {
  const double smaller = std::min(model.deviation, run.deviation);
  const double larger = std::max(model.deviation, run.deviation);
  if (larger == 0.0) return 0.0;  // constant numbers are 0 for the network, whatever their mean
  if (smaller == 0.0) return std::numeric_limits<double>::infinity();
  return std::max(std::fabs(model.mean - run.mean) / model.deviation, larger / smaller - 1.0);
}

/// Warning that numbers called `what` are scaled differently from the model's; empty: the scales are similar.
std::string scale_warning(const std::string& file, const std::string& what, const TargetScale& model,
                          const TargetScale& run) {
  constexpr double noticeable = 0.1;
  if (scale_difference(model, run) <= noticeable) return {};
  return fmt::format(
      "{}: was trained with mean {:.5g} and deviation {:.5g} of {}, but this run has mean {:.5g} and "
      "deviation {:.5g}, by which numbers are scaled: train for enough epochs to adapt, or on the old rows "
      "too",
      file, model.mean, model.deviation, what, run.mean, run.deviation);
}

/// scale_warning for the column whose scales differ most. Model and run must have columns of the same names.
std::string column_warning(const std::string& file, const ModelDescription& model,
                           const ModelDescription& run) {
  const std::vector<TableColumn> its = table_encoding_of(model, file).columns;
  const std::vector<TableColumn> own = table_encoding_of(run, "the data set").columns;
  const auto scale_of = [](const TableColumn& column) {
    return TargetScale{.mean = column.mean, .deviation = column.deviation};
  };
  const auto difference_at = [&](std::size_t i) {
    return scale_difference(scale_of(its[i]), scale_of(own[i]));
  };
  std::size_t worst = 0;
  for (std::size_t i = 1; i < its.size(); ++i) {
    if (difference_at(i) > difference_at(worst)) worst = i;
  }
  if (its.empty()) return {};
  return scale_warning(file, "column " + in_quotes(its[worst].name), scale_of(its[worst]),
                       scale_of(own[worst]));
}

std::string outputs_text(const ModelDescription& description) {
  return description.classes.empty() ? "task " + description.task : first_names(description.classes);
}

/// One number per channel: `values`, its only element for all channels, or `without` if it is empty.
std::vector<double> of_channels(const std::vector<double>& values, int channels, double without) {
  if (values.size() > 1) return values;
  std::vector<double> all(static_cast<std::size_t>(channels), values.empty() ? without : values[0]);
  return all;
}

/// The option as a user can write it. `without`: its value if it is not given.
std::string option_text(const char* flag, const std::vector<double>& value, double without) {
  return fmt::format("{} {}", flag, value.empty() ? value_text(without) : value_text(value));
}

}  // namespace

InitialModel compare_initial_model(const std::string& file, const ModelDescription& model,
                                   const ModelDescription& run, bool reset_head) {
  // A model that was not saved by a training run describes its data incompletely or not at all.
  if (model.digest.empty() || model.options.empty()) return {};
  check_columns(file, model, run);
  check_network(file, model, run);
  InitialModel initial;
  const bool both_named = !model.classes.empty() && !run.classes.empty();
  initial.other_outputs = model.task != run.task || (both_named && model.classes != run.classes);
  if (initial.other_outputs && !reset_head) {
    initial.warnings.push_back(fmt::format(
        "{}: the last layer is kept, but was trained for {}; this run has {}; --reset-head reinitialises it",
        file, outputs_text(model), outputs_text(run)));
  }
  std::vector<std::string> its_input, own_input;
  const auto compare = [&](const char* flag, const std::vector<double>& its, const std::vector<double>& own,
                           double without) {
    if (of_channels(its, run.shape.channels, without) == of_channels(own, run.shape.channels, without))
      return;
    its_input.push_back(option_text(flag, its, without));
    own_input.push_back(option_text(flag, own, without));
  };
  compare("--mean", model.input.mean, run.input.mean, 0.0);
  compare("--std", model.input.deviation, run.input.deviation, 1.0);
  if (!its_input.empty()) {
    initial.warnings.push_back(fmt::format("{}: was trained with {}, but this run has {}: use the model's {}",
                                           file, fmt::join(its_input, " "), fmt::join(own_input, " "),
                                           its_input.size() == 1 ? "value" : "values"));
  }
  const auto add_warning = [&](std::string warning) {
    if (!warning.empty()) initial.warnings.push_back(std::move(warning));
  };
  add_warning(column_warning(file, model, run));
  if (model.task == name_of(Task::regression) && run.task == model.task) {
    add_warning(scale_warning(file, "target " + in_quotes(first_names(run.classes)), model.target_scale,
                              run.target_scale));
  }
  return initial;
}

}  // namespace lockstep
