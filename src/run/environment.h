#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "lockstep/checkpoint.h"
#include "run/rank_map.h"

namespace lockstep {

/// Machine, program and launch of a run, to repeat the run or explain its speed.
struct Environment {
  std::string lockstep;  ///< version
  std::string compiler;
  std::string mpi;  ///< the library's own version string
  std::vector<std::string> image_libraries;
  std::string cpu;  ///< model name
  std::string simd;
  int cores = 0;  ///< cores that this process may use
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::vector<std::string> hosts;
  int ranks = 1;
  int threads = 1;  ///< threads of rank 0
  std::vector<RankGroup> rank_map;
  std::vector<std::string> command_line;
  std::string started;  ///< UTC, ISO 8601
  Facts more{};         ///< further members of environment.json
};
LOCKSTEP_MEMBERS(Environment, lockstep, compiler, mpi, image_libraries, cpu, simd, cores, memory_bytes,
                 kernel, hosts, ranks, threads, rank_map, command_line, started, more)

/// Properties of this machine and program: compiler, CPU, cores, memory, kernel and time. Properties that
/// cannot be read stay empty. Never throws.
Environment this_environment();

/// Text of environment.json: one object, memory in bytes.
std::string environment_json(const Environment& environment);

}  // namespace lockstep
