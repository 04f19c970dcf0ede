#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "support/temporary_folder.h"
#include "support/text.h"

namespace lockstep::test {

/// Result of a program.
struct Outcome {
  int status = 0;  ///< exit status, or 128 + signal
  std::string out;
  std::string err;
  long resident_kilobytes = 0;  ///< maximum over its processes
};

/// Environment of a program: `more` (NAME=VALUE), what mpirun needs, a folder for temporary files that only
/// this process's programs have, since Open MPI removes its own where another job has just begun, and this
/// process's.
Words environment_with(const Words& more);

/// Runs `command` and waits. `environment`: NAME=VALUE, added to this process's.
Outcome run(const Words& command, const Words& environment = {});

/// Runs `program` on `ranks` ranks under mpirun; 0: without mpirun.
Outcome mpirun(const std::string& program, int ranks, const Words& arguments, const Words& environment = {});
/// Runs the lockstep program on `ranks` ranks under mpirun; 0: without mpirun.
Outcome lockstep(int ranks, const Words& arguments, const Words& environment = {});

/// Writes the first `train` and `test` samples of Fashion-MNIST into `folder` as plain IDX files, for
/// --data-dir: runs of a tenth of a second on real data.
void write_small_fashion_mnist(const TemporaryFolder& folder, std::uint32_t train, std::uint32_t test);

/// Lines of stderr that lockstep or lockstep-run printed, without those of mpirun and of libraries.
std::string own_lines(const std::string& err);

/// Digest that a training or `inspect` prints, without the note after it.
inline std::string digest_of(const std::string& text) { return line_after(text, "digest ").substr(0, 37); }

}  // namespace lockstep::test
