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
/// mpirun would end a run whose output it cannot write.
class Relay {
 public:
  /// `name`: of the target, "stdout", in the warning that a write failed; empty: no warning. There is none if
  /// the reader has ended (is_unread). `on_line`: called in the relay's thread with each line, without its
  /// end; may be null. `before`: written before bytes that arrive at the beginning of a line. Lines of
  /// `marked` are not copied.
  Relay(int target, std::string name, std::function<void(std::string_view)> on_line, std::string before = {},
        MarkedLines marked = {{}, {}});
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
  /// Whether a write failed for another reason than that nobody reads the copy any more.
  bool lost_output() const { return lost_; }
  /// Whether a write failed as nobody reads the copy any more.
  bool is_unread() const { return unread_; }

 private:
  void copy();
  void pass_on(const std::string& bytes);
  void write_out(std::string_view bytes);
  void find_lines(std::string_view bytes);

  int target_;
  std::string name_;
  std::function<void(std::string_view)> on_line_;
  std::string before_;
  MarkedLines marked_;
  bool within_line_ = false;
  FileDescriptor input_;
  FileDescriptor output_;
  FileDescriptor ended_;
  std::string line_;
  bool broken_ = false;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> unread_ = false;
  std::thread thread_;
};

}  // namespace lockstep::launcher
