#include "train/run_description.h"

#include <fmt/format.h>

#include "core/json/json.h"
#include "core/version.h"
#include "lockstep/error.h"
#include "lockstep/models.h"

namespace lockstep {
namespace {

std::string network_or_nothing(const Network& network) {
  try {
    return network_json(network);
  } catch (const Error&) {
    return {};
  }
}

void add(Facts& facts, const std::string& part, const Evaluation& evaluation) {
  for (const Metric& metric : metrics_of(evaluation.task)) {
    if (!metric.is_reported(part)) continue;
    facts.push_back(result_entry(part, metric, evaluation.*metric.value));
  }
}

}  // namespace

ModelDescription description_of(const Run& run) {
  ModelDescription description{.network = network_or_nothing(run.network),
                               .shape = run.network.input_shape(),
                               .outputs = run.network.classes(),
                               .classes = run.train.class_names(),
                               .task = name_of(run.train.task()),
                               .target_scale = run.train.target_scale(),
                               .input = run.options.input,
                               .table = table_text(run.train),
                               .version = version()};
  if (run.train.encoding() != Encoding::image_file) description.input.crop_share = 1.0;
  return description;
}

std::string table_text(const Dataset& dataset) {
  const TableEncoding* const encoding = dataset.table_encoding();
  return encoding == nullptr ? "" : json_of(*encoding).dump();
}

TableEncoding table_encoding_of(const ModelDescription& description, const std::string& origin) {
  TableEncoding encoding;
  if (description.table.empty()) return encoding;
  const JsonDocument document(description.table, {.file = origin + ": metadata 'table'"});
  document.read(document.root(), encoding);
  return encoding;
}

std::pair<std::string, std::string> result_entry(const std::string& part, const Metric& metric,
                                                 double value) {
  return {fmt::format("{}_{}", part, metric.name), fmt::format("{}", value)};
}

Facts results_of(const EpochReport& report) {
  Facts facts{{"epoch", std::to_string(report.epoch)}};
  add(facts, "test", report.test);
  if (report.validation) add(facts, "validation", *report.validation);
  return facts;
}

}  // namespace lockstep
