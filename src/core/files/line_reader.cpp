#include "core/files/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace lockstep {

LineReader::LineReader(const std::filesystem::path& file, std::size_t max_bytes)
    : file_(file), input_(file), max_bytes_(max_bytes) {}

bool LineReader::next(std::string& line) {
  constexpr std::uint64_t part = std::uint64_t{1} << 16;
  std::size_t end = text_.find('\n', begin_);
  while (end == std::string::npos && text_.size() - begin_ <= max_bytes_ && at_ < input_.size()) {
    text_.erase(0, begin_);
    begin_ = 0;
    const std::size_t before = text_.size();
    text_.resize(before + static_cast<std::size_t>(std::min(part, input_.size() - at_)));
    const auto added = std::span(text_).subspan(before);
    input_.read(at_, std::as_writable_bytes(added));
    at_ += added.size();
    end = text_.find('\n', before);
  }
  if (std::min(end, text_.size()) - begin_ > max_bytes_) {
    refuse_file(file_, fmt::format("line {}: longer than {} KiB", number_ + 1, max_bytes_ / 1024));
  }
  if (end == std::string::npos) return false;
  line = text_.substr(begin_, end - begin_);
  begin_ = end + 1;
  ++number_;
  return true;
}

}  // namespace lockstep
