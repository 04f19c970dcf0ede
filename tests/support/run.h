#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_folder.h"
#include "support/text.h"

namespace lockstep::test {

/// Result of a program.
struct Outcome {
  int status = 0;  ///< exit status, or 128 + signal
  std::string out;
  std::string err;
  long resident_kilobytes = 0;  ///< maximum over its processes
  bool mpirun_failed = false;   ///< whether mpirun itself crashed, or hung after its ranks had ended
};

/// A running program in its own process group, which the destructor kills if it still runs.
class Started {
 public:
  /// `environment`: NAME=VALUE, added to this process's.
  explicit Started(const Words& command, const Words& environment = {});
  ~Started();
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  pid_t process() const { return process_; }
  /// Waits until a line of stdout starts with `start`. Fails the test if the program ends before.
  void await_line(const std::string& start);
  /// Processes that run `program`, among this one and its descendants, ordered by process ID.
  std::vector<pid_t> processes_of(const std::filesystem::path& program) const;
  /// Waits for the program to end; fails the test after `seconds`. `out`: stdout after the lines that
  /// await_line has read. An mpirun that hangs after its ranks have ended (Open MPI 4.1.4 sometimes does) is
  /// killed.
  Outcome wait(double seconds = 60.0);

 private:
  /// A descendant that is mpirun and whose ranks have all ended; 0: none.
  pid_t mpirun_without_ranks() const;

  TemporaryFolder folder_;
  pid_t process_ = 0;
  int out_ = -1;  ///< read end of a pipe
  std::string read_;
  bool waited_ = false;
};

/// Command that starts `program` on `ranks` ranks under mpirun; 0: without mpirun.
Words on_ranks(int ranks, const std::string& program, const Words& arguments,
               const Words& mpirun_options = {});

/// Runs `command` and waits. `environment`: NAME=VALUE, added to this process's.
Outcome run(const Words& command, const Words& environment = {});

/// Runs `program` on `ranks` ranks under mpirun; 0: without mpirun. Runs it again if mpirun hangs at its end.
Outcome mpirun(const std::string& program, int ranks, const Words& arguments, const Words& environment = {});
/// Runs the lockstep program on `ranks` ranks under mpirun; 0: without mpirun.
Outcome lockstep(int ranks, const Words& arguments, const Words& environment = {});

/// Writes the first `train` and `test` samples of Fashion-MNIST into `folder` as plain IDX files, for
/// --data-dir: runs of a tenth of a second on real data.
void write_small_fashion_mnist(const TemporaryFolder& folder, std::uint32_t train, std::uint32_t test);

/// Events in metrics.jsonl of a run directory, without times and without events about checkpoints.
Words record_of(const std::filesystem::path& run);

/// Digest that a training or `inspect` prints, without the note after it.
inline std::string digest_of(const std::string& text) { return line_after(text, "digest ").substr(0, 37); }

}  // namespace lockstep::test
