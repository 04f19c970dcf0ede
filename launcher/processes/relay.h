#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "core/files/file.h"
#include "processes/marked_lines.h"

namespace lockstep::launcher {

/// A pipe that a thread copies to a descriptor. The thread keeps reading when the reader of the copy is gone,
/// because mpirun ends a run whose output it cannot write. It waits for a reader that only pauses; after
/// give_up_blocked_output, for 3 s at most.
class Relay {
 public:
  /// `on_line`: called on the relay's thread with each line, without its line end; may be null. `before`:
  /// written before bytes that arrive at the beginning of a line. Lines that `marked` removes are not copied.
  Relay(int target, std::function<void(std::string_view)> on_line, std::string before = {},
        MarkedLines marked = {{}, {}});
  /// Closes the write end of the pipe, then waits for the thread.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// Write end of the pipe.
  int input() const { return input_.get(); }
  /// Starts the thread. To be called once the processes that write have inherited the input, which is closed
  /// here. Throws Error(resource) if the system has no thread to spare.
  void start();
  /// Descriptor that becomes readable when all writers have ended and everything is copied.
  int ended() const { return ended_.get(); }
  /// errno of the write that failed, after which nothing is copied; 0: none. EPIPE: the reader of the copy is
  /// gone, or has paused for too long.
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
