#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// Where and how a run was made: what one needs to repeat it or to explain its speed.
struct Environment {
  std::string lockstep;  ///< version
  std::string compiler;
  std::string mpi;  ///< the library's own version string
  std::vector<std::string> image_libraries;
  std::string cpu;  ///< model name
  std::string simd;
  int cores = 0;  ///< that this process may use
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::vector<std::string> hosts;
  int ranks = 1;
  int threads = 1;  ///< of each rank
  std::vector<std::string> command_line;
  std::string started;                                      ///< UTC, ISO 8601
  std::vector<std::pair<std::string, std::string>> more{};  ///< further facts by name
};

/// What can be read from this machine and this program: compiler, CPU, cores, memory, kernel and time.
/// What cannot be read stays empty; nothing throws.
Environment this_environment();

/// Text of environment.json: one object, memory in bytes.
std::string environment_json(const Environment& environment);

}  // namespace lockstep
