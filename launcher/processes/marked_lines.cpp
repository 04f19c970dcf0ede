#include "processes/marked_lines.h"

#include <algorithm>
#include <utility>

namespace lockstep::launcher {
namespace {

constexpr std::size_t longest_marked_line = 1 << 16;  // a longer marked line is passed on unchanged

/// Removes the tag that --tag-output has put before a marked line, from the end of `text`.
void remove_tag(std::string& text) {
  const std::size_t line = text.rfind('\n') + 1;  // 0 without a line feed
  const std::string_view last = std::string_view(text).substr(line);
  if (last.starts_with('[') && last.ends_with("<stderr>:")) text.resize(line);
}

}  // namespace

MarkedLines::MarkedLines(std::string marker, std::function<void(std::string_view)> on_line)
    : marker_(std::move(marker)), on_line_(std::move(on_line)) {}

std::string MarkedLines::pass(std::string_view piece) {
  if (marker_.empty()) return std::string(piece);
  held_ += piece;
  std::string passed;
  for (std::size_t at = 0; (at = held_.find(marker_)) != std::string::npos;) {
    const std::size_t end = held_.find('\n', at);
    passed.append(held_, 0, at);
    held_.erase(0, at);
    remove_tag(passed);
    if (end == std::string::npos) {
      if (held_.size() > longest_marked_line) passed += std::exchange(held_, {});
      return passed;
    }
    on_line_(std::string_view(held_).substr(marker_.size(), end - at - marker_.size()));
    held_.erase(0, end - at + 1);
  }
  std::size_t kept = std::min(held_.size(), marker_.size() - 1);
  while (!marker_.starts_with(std::string_view(held_).substr(held_.size() - kept))) --kept;
  passed.append(held_, 0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return passed;
}

std::string MarkedLines::rest() { return std::exchange(held_, {}); }

}  // namespace lockstep::launcher
