#pragma once

#include <string>
#include <utility>

#include "data/files/table_encoding.h"
#include "lockstep/dataset.h"
#include "lockstep/model_description.h"
#include "lockstep/reports.h"
#include "train/run.h"

namespace lockstep {

/// Description of the models of a run, as far as the run's network, data and input options determine it.
/// Omits a network that cannot be written to a network file.
ModelDescription description_of(const Run& run);

/// ModelDescription::table for models of the data set.
std::string table_text(const Dataset& dataset);
/// Encoding in ModelDescription::table; it has no columns if samples are images. Throws Error(data) naming
/// `origin`, the file.
TableEncoding table_encoding_of(const ModelDescription& description, const std::string& origin);

/// Entry of ModelDescription::results: the value of a metric for `part`, "validation" or "test".
std::pair<std::string, std::string> result_entry(const std::string& part, const Metric& metric, double value);

/// Results of an evaluated epoch, for ModelDescription::results.
Facts results_of(const EpochReport& report);

}  // namespace lockstep
