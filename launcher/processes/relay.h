#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "processes/descriptor.h"

namespace lockstep::launcher {

/// A pipe that is copied to a descriptor in a thread. Where nobody reads the copy any more, it goes on to
/// read: mpirun would end a run whose output it cannot write.
class Relay {
 public:
  /// `name`: of the target, for a warning when it cannot be written, "stdout"; empty: no warning. `on_line`:
  /// called in the relay's thread with each line, without its end; may be null. `before`: written before what
  /// arrives at the beginning of a line.
  Relay(int target, std::string name, std::function<void(std::string_view)> on_line, std::string before = {});
  /// Waits for the thread. Closes the writing end before.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// End of the pipe to write to.
  int input() const { return input_.get(); }
  /// Starts the thread, once the processes that write have the input. Closes it here.
  void start();
  /// Descriptor that can be read when all is copied, after all writers have ended.
  int ended() const { return ended_.get(); }
  /// Whether something could not be written, for another reason than that nobody reads it any more.
  bool lost_output() const { return lost_; }

 private:
  void copy();
  void write_out(std::string_view bytes);
  void find_lines(std::string_view bytes);

  int target_;
  std::string name_;
  std::function<void(std::string_view)> on_line_;
  std::string before_;
  bool within_line_ = false;
  Descriptor input_;
  Descriptor output_;
  Descriptor ended_;
  std::string line_;
  bool broken_ = false;
  std::atomic<bool> lost_ = false;
  std::thread thread_;
};

}  // namespace lockstep::launcher
