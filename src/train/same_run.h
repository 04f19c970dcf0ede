#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/dataset.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "lockstep/training_options.h"

namespace lockstep {

class World;

/// Something that every rank must have been given alike, as a number or a hash.
struct Given {
  std::string name;
  std::uint64_t value = 0;
  /// What to look at where it differs.
  const char* origin = "LOCKSTEP_ variables, configuration files and data";
};

/// Everything that the result of a run depends on: options, network, both data sets
/// (Dataset::fingerprint), pixels of 4 samples of each where they are image files.
std::vector<Given> given_to(const TrainerOptions& options, const Network& network, const Dataset& train,
                            const Dataset& test);

/// As much for Trainer::load.
std::vector<Given> given_to_load(const ModelFile& file, const LoadOptions& options);

/// Throws Error(usage) on all ranks when a rank was given something else than rank 0, naming both: another
/// environment, configuration file or data on its host. Collective; equally many entries on every rank.
void check_same_run(const World& world, const std::vector<Given>& given);

}  // namespace lockstep
