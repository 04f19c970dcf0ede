#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep::launcher {

/// Removes marked lines from a stream that arrives in pieces, and passes on everything else as soon as it
/// cannot be part of a marked line.
class MarkedLines {
 public:
  /// `marker`: start of marked lines; empty: no line is marked. `on_line`: called with the rest of each
  /// marked line, without its line feed. Also removes "[1,0]<stderr>:", which mpirun's --tag-output may put
  /// before a marked line.
  MarkedLines(std::string marker, std::function<void(std::string_view)> on_line);

  /// Adds a piece of the stream. Returns the bytes of it and of earlier pieces that can be passed on now.
  std::string pass(std::string_view piece);
  /// To be called at the end of the stream. Returns the bytes that were held back.
  std::string rest();

 private:
  std::string marker_;
  std::function<void(std::string_view)> on_line_;
  std::string held_;  ///< end of the stream so far, which may be part of a marked line
};

}  // namespace lockstep::launcher
