#include "data/files/csv.h"

#include <fmt/format.h>

#include "lockstep/error.h"

namespace lockstep {

CsvReader::CsvReader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
  skip_byte_order_mark();
}

CsvReader::CsvReader(Source source, std::string name, std::size_t window)
    : source_(std::move(source)), window_(window, '\0'), text_(), name_(std::move(name)) {
  skip_byte_order_mark();
}

void CsvReader::skip_byte_order_mark() {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  more();
  if (text_.substr(0, byte_order_mark.size()) == byte_order_mark) {
    at_ = byte_order_mark.size();
  }
}

bool CsvReader::more() {
  if (at_ + 1 < text_.size() || !source_) return at_ < text_.size();
  const std::string_view rest = text_.substr(at_);
  std::size_t size = rest.size();
  std::char_traits<char>::move(window_.data(), rest.data(), size);
  at_ = 0;
  while (size < window_.size() && source_) {
    const std::size_t count = source_(std::span(window_).subspan(size));
    if (count == 0) source_ = nullptr;
    size += count;
  }
  text_ = std::string_view(window_).substr(0, size);
  return size > 0;
}

void CsvReader::fail(const char* reason) const {
  throw Error(Category::data, fmt::format("{}: line {}: {}", name_, line_, reason));
}

bool CsvReader::at_line_end() { return !more() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n"; }

void CsvReader::skip_line_end() {
  if (more()) {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }
}

bool CsvReader::next(std::vector<std::string>& fields) {
  fields.clear();
  while (more() && at_line_end()) {
    skip_line_end();
  }
  if (!more()) {
    return false;
  }
  record_line_ = line_;
  fields.push_back(read_field());
  while (!at_line_end()) {
    ++at_;  // a comma: only it and the end of the line end a field
    fields.push_back(read_field());
  }
  skip_line_end();
  return true;
}

std::string CsvReader::read_field() {
  if (more() && text_[at_] == '"') {
    return read_quoted();
  }
  std::string field;
  while (!at_line_end() && text_[at_] != ',') {
    if (text_[at_] == '"') {
      fail("a quote inside a field that does not begin with one");
    }
    field += text_[at_++];
  }
  return field;
}

std::string CsvReader::read_quoted() {
  std::string field;
  for (++at_; more(); ++at_) {
    if (text_[at_] == '"' && text_.substr(at_, 2) != "\"\"") {
      ++at_;
      if (!at_line_end() && text_[at_] != ',') {
        fail("characters after a closing quote");
      }
      return field;
    }
    at_ += text_[at_] == '"' ? 1 : 0;
    line_ += text_[at_] == '\n' ? 1 : 0;
    field += text_[at_];
  }
  fail("a quote that is not closed");
}

}  // namespace lockstep
