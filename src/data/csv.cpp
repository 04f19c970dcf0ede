#include "data/csv.h"

#include <fmt/format.h>

#include "lockstep/error.h"

namespace lockstep {

CsvReader::CsvReader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text_.substr(0, byte_order_mark.size()) == byte_order_mark) {
    at_ = byte_order_mark.size();
  }
}

void CsvReader::fail(const char* reason) const {
  throw Error(Category::data, fmt::format("{}: line {}: {}", name_, line_, reason));
}

bool CsvReader::at_line_end() const {
  return at_ == text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

void CsvReader::skip_line_end() {
  if (at_ < text_.size()) {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }
}

bool CsvReader::next(std::vector<std::string>& fields) {
  fields.clear();
  while (at_ < text_.size() && at_line_end()) {
    skip_line_end();
  }
  if (at_ == text_.size()) {
    return false;
  }
  record_line_ = line_;
  fields.push_back(read_field());
  while (!at_line_end()) {
    ++at_;  // a comma: nothing else ends a field inside a line
    fields.push_back(read_field());
  }
  skip_line_end();
  return true;
}

std::string CsvReader::read_field() {
  if (at_ < text_.size() && text_[at_] == '"') {
    return read_quoted();
  }
  const std::size_t begin = at_;
  while (!at_line_end() && text_[at_] != ',') {
    if (text_[at_] == '"') {
      fail("a quote inside a field that does not begin with one");
    }
    ++at_;
  }
  return std::string(text_.substr(begin, at_ - begin));
}

std::string CsvReader::read_quoted() {
  std::string field;
  for (++at_; at_ < text_.size(); ++at_) {
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
