#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/process/host_facts.h"
#include "processes/program_output.h"

namespace lockstep::launcher {

/// Time limit for the answer of a host.
inline constexpr std::chrono::seconds answer_limit{60};

/// Answer of a host to the questions of lockstep-run.
struct HostAnswer {
  using Time = std::chrono::system_clock::time_point;
  std::string host{};                ///< name, as the user wrote it
  int ranks = 0;                     ///< number of ranks to start there; 0: unknown
  std::optional<HostFacts> facts{};  ///< none: see `failure`
  std::optional<DataFacts> data{};   ///< none: not asked for, or no answer in time
  std::string failure{};             ///< reason why there are no facts
  std::string remedy{};
  Time asked{}, answered{};  ///< times on the clock of this machine
};

/// Reads the output of `program` on a host. `shell`: command that started it there, "ssh b"; empty: none.
HostAnswer read_answer(const ProgramOutput& output, const std::string& program, const std::string& shell);

}  // namespace lockstep::launcher
