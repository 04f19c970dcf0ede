#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "core/files/file.h"
#include "processes/marked_lines.h"

namespace lockstep::launcher {

/// A pipe that a thread copies to a descriptor. It continues to read when nobody reads the copy any more:
/// mpirun would end a run whose output it cannot write. A reader that only pauses is waited for, after
/// give_up_blocked_output for 3 s.
class Relay {
 public:
  /// `on_line`: called in the relay's thread with each line, without its end; may be null. `before`: written
  /// before bytes that arrive at the beginning of a line. Lines of `marked` are not copied.
  Relay(int target, std::function<void(std::string_view)> on_line, std::string before = {},
        MarkedLines marked = {{}, {}});
  /// Waits for the thread. Closes the writing end before.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// End of the pipe to write to.
  int input() const { return input_.get(); }
  /// Starts the thread, once the processes that write have the input. Closes it here. Throws Error(resource)
  /// if the system has no thread to spare.
  void start();
  /// Descriptor that can be read when all is copied, after all writers have ended.
  int ended() const { return ended_.get(); }
  /// errno of the write that failed, after which nothing is copied; EPIPE: nobody reads the copy any more, or
  /// its reader has paused for too long; 0: none has failed.
  int failure() const { return failure_; }

 private:
  void copy();
  void pass_on(const std::string& bytes);
  void write_out(std::string_view bytes);
  void find_lines(std::string_view bytes);

  int target_;
  std::function<void(std::string_view)> on_line_;
  std::string before_;
  MarkedLines marked_;
  bool within_line_ = false;
  FileDescriptor input_;
  FileDescriptor output_;
  FileDescriptor ended_;
  std::string line_;
  std::atomic<int> failure_ = 0;
  std::thread thread_;
};

}  // namespace lockstep::launcher
