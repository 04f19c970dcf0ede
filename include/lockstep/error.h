#pragma once

#include <stdexcept>
#include <string>

namespace lockstep {

/// What kind of failure this is. The value is the program's exit status.
enum class Category {
  usage = 2,      ///< wrong option, value or combination of values
  data = 3,       ///< a file that is missing, truncated or holds something impossible
  resource = 4,   ///< a device, memory, disk or library that is missing or fails
  peer = 5,       ///< another rank failed
  internal = 70,  ///< a defect of lockstep itself
  stopped = 75,   ///< ended on request; the run can be resumed
};

/// The one exception type of lockstep. The message is a single line that says what was wrong, where
/// (file, offset, option, value) and what to do; `run_program` adds the rank and the host.
class Error : public std::runtime_error {
 public:
  Error(Category category, const std::string& message) : std::runtime_error(message), category_(category) {}

  Category category() const { return category_; }
  int exit_status() const { return static_cast<int>(category_); }

 private:
  Category category_;
};

}  // namespace lockstep
