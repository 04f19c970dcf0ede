#pragma once

#include <cstdint>
#include <string>

#include "cli/option_set.h"
#include "lockstep/transport.h"

namespace lockstep {

/// Options that several subcommands have. Declared here once, they take the same values everywhere, so that
/// any subcommand reads the options.cfg of a run. The caller names the group before.

/// --model: a name that make_model takes. `help` says what it is for.
void declare_model(OptionSet& set, const std::string& help, std::string& model);

/// --dataset and --data-dir; an empty directory stands for where the system keeps the data set.
void declare_data(OptionSet& set, std::string& dataset, std::string& directory);

/// --batch-size and --micro-batches; 0 micro-batches stand for auto.
void declare_batch(OptionSet& set, std::uint32_t& batch_size, std::uint32_t& micro_batches);

/// --threads, --transport and --simd; 0 threads stand for auto.
void declare_execution(OptionSet& set, std::uint32_t& threads, Transport& transport, std::string& simd);

}  // namespace lockstep
