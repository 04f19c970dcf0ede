#include "core/files/line_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

namespace lockstep {

LineWriter::LineWriter(const std::filesystem::path& file) : file_(file) {
  descriptor_ = FileDescriptor::open(file_, O_RDWR | O_CREAT | O_APPEND);
  if (descriptor_.get() < 0) fail_file(file_, "open");
  cut_incomplete_line();
}

void LineWriter::append(std::string_view lines) {
  if (incomplete_ && regular_) cut_to(size_);
  incomplete_ = true;
  if (!write_fully(descriptor_, std::as_bytes(std::span(lines)))) fail_file(file_, "write");
  incomplete_ = false;
  size_ += lines.size();
}

void LineWriter::cut_incomplete_line() {
  FileStatus status;
  if (files().fstat(descriptor_.get(), status) != 0) fail_file(file_, "read");
  regular_ = status.kind == FileKind::file;
  if (!regular_) return;
  std::array<char, 4096> part{};
  std::uint64_t end = status.size;  // no line feed is in the file from here on
  while (end > 0) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, part.size());
    const ssize_t count =
        uninterrupted([&] { return files().pread(descriptor_.get(), part.data(), end - begin, begin); });
    if (count < 0 || static_cast<std::uint64_t>(count) != end - begin) fail_file(file_, "read");
    const std::string_view text(part.data(), end - begin);
    const std::size_t last = text.rfind('\n');
    if (last != std::string_view::npos) {
      end = begin + last + 1;
      break;
    }
    end = begin;
  }
  if (end != status.size) cut_to(end);
  size_ = end;
}

void LineWriter::cut_to(std::uint64_t size) {
  if (uninterrupted([&] { return files().ftruncate(descriptor_.get(), size); }) != 0) {
    fail_file(file_, "cut off an incomplete line");
  }
}

}  // namespace lockstep
