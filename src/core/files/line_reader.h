#pragma once

#include <filesystem>
#include <string>

#include "core/files/file.h"

namespace lockstep {

/// Reads a file line by line, up to the size that it had when it was opened. Throws as InputFile does.
class LineReader {
 public:
  /// Refuses lines of more than `max_bytes` bytes with Error(data), naming the line.
  LineReader(const std::filesystem::path& file, std::size_t max_bytes);

  /// Sets `line` to the next complete line, without its line feed. Returns false at the end.
  bool next(std::string& line);
  /// Number of the line last read, counting from 1.
  std::size_t number() const { return number_; }

 private:
  std::filesystem::path file_;
  InputFile input_;
  std::size_t max_bytes_;
  std::uint64_t at_ = 0;   ///< bytes read so far
  std::string text_;       ///< bytes read last
  std::size_t begin_ = 0;  ///< where the next line begins in text_
  std::size_t number_ = 0;
};

}  // namespace lockstep
