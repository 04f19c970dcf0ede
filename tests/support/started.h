#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/run.h"

namespace lockstep::test {

/// A program in a process group of its own, which is ended with the object if it still runs.
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
  /// Processes below this one that run `program`, in the order of their numbers.
  std::vector<pid_t> processes_of(const std::filesystem::path& program) const;
  /// Waits for the end. `out` is what await_line has not read. Fails the test after `seconds`.
  Outcome wait(double seconds = 60.0);

 private:
  TemporaryFolder folder_;
  pid_t process_ = 0;
  int out_ = -1;  ///< read end of a pipe
  std::string read_;
  bool waited_ = false;
};

/// Command of mpirun for `ranks` ranks of the lockstep program; 0: of the program alone.
Words lockstep_command(int ranks, const Words& arguments, const Words& mpirun_options = {});

}  // namespace lockstep::test
