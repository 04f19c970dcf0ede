#pragma once

#include <exception>
#include <string>
#include <utility>

namespace lockstep {

/// Kind of a failure. The value is the program's exit status.
enum class Category {
  usage = 2,      ///< wrong option, value or combination of values
  data = 3,       ///< a file that is missing, truncated or has impossible contents
  resource = 4,   ///< a device, memory, disk or library that is missing or fails
  peer = 5,       ///< another rank failed
  internal = 70,  ///< a defect of lockstep itself
  stopped = 75,   ///< ended on request; the run can be resumed
};

/// The exception type of lockstep. The message is a single line that says what is wrong, where (file, offset,
/// option, value) and what to do; `run_program` adds the rank and the host.
class Error : public std::exception {
 public:
  /// `field`: name of the wrong option as in its Field, e.g. "weight-decay"; empty: none.
  Error(Category category, std::string message, std::string field = {})
      : category_(category), message_(std::move(message)), field_(std::move(field)) {
    if (!field_.empty()) locate(field_);
  }

  /// The message with its location: "weight-decay: '-1' is out of range: at least 0, finite".
  const char* what() const noexcept override {
    return located_.empty() ? message_.c_str() : located_.c_str();
  }
  Category category() const { return category_; }
  int exit_status() const { return static_cast<int>(category_); }
  const std::string& field() const { return field_; }
  const std::string& message() const { return message_; }  ///< without the field

  /// Replaces the field in what() with `place`, where the value was set: "--lr", "run.cfg:3".
  void locate(const std::string& place) { located_ = place + ": " + message_; }

 private:
  Category category_;
  std::string message_;
  std::string field_;
  std::string located_;
};

}  // namespace lockstep
