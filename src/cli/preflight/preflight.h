#pragma once

#include <span>

#include "core/process/host_facts.h"

namespace lockstep {

/// Answers lockstep-run: prints this host's facts and, if requested, facts about the data of the command.
/// `words`: the request, then the command and its options. Returns 0; throws Error(usage) for a request that
/// cannot be read.
int run_preflight(std::span<char* const> words);

}  // namespace lockstep
