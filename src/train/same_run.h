#pragma once

#include <vector>

#include "core/options/check.h"
#include "lockstep/dataset.h"
#include "lockstep/evaluation.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "lockstep/training_options.h"

/// Lines that check_same compares between ranks.
namespace lockstep {

/// Lines that identify network and data of a run: fingerprints of the network, of the data sets
/// (Dataset::fingerprint) and, for image files, of the files' contents and of the decoded pixels of up to 4
/// training and 4 test samples. `validation`: null if there is none.
std::vector<Line> identity_of_run(const Network& network, const Dataset& train, const Dataset& test,
                                  const Dataset* validation = nullptr);

/// Lines for everything that the result of a run and its collectives depend on: options and `identity`.
std::vector<Line> lines_of_run(const TrainerOptions& options, const std::vector<Line>& identity);

/// Lines for `evaluate`.
std::vector<Line> lines_of_evaluation(const EvaluationOptions& options, const Network& network,
                                      const ModelFile& file, const Dataset& dataset);

/// Lines that describe what Trainer::load reads: the file and the options.
std::vector<Line> lines_of_load(const ModelFile& file, const LoadOptions& options);

}  // namespace lockstep
