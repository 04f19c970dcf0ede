#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep::launcher {

/// Removes marked lines from a stream that arrives in pieces, and passes on everything else as soon as it
/// cannot be part of one.
class MarkedLines {
 public:
  /// `marker`: start of these lines; empty: there are none. `on_line`: called with the rest of each one,
  /// without its line feed. mpirun's --tag-output may put "[1,0]<stderr>:" in front, which is removed too.
  MarkedLines(std::string marker, std::function<void(std::string_view)> on_line);

  /// Returns the bytes to pass on now, of this piece and of earlier ones.
  std::string pass(std::string_view piece);
  /// Returns the bytes that were held back, at the end of the stream.
  std::string rest();

 private:
  std::string marker_;
  std::function<void(std::string_view)> on_line_;
  std::string held_;  ///< end of the stream so far that may be, or belong to, a marked line
};

}  // namespace lockstep::launcher
