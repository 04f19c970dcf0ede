#include "data/files/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/files/content.h"
#include "core/text/utf8.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Number of fields of each of the first ten records of `text`, split at `separator`. A last record without a
/// line end counts only if it is also the first, or if `text` is the `whole` text.
std::vector<std::size_t> field_counts(std::string_view text, char separator, bool whole) {
  constexpr std::size_t most = 10;
  std::vector<std::size_t> counts;
  std::size_t fields = 1;
  bool quoted = false, empty = true;
  for (const char letter : text) {
    if (counts.size() == most) return counts;
    if (letter == '"') quoted = !quoted;  // twice for a doubled quote
    if (letter == '\n' && !quoted) {
      if (!empty) counts.push_back(fields);
      fields = 1;
      empty = true;
      continue;
    }
    if (letter == separator && !quoted) ++fields;
    empty = empty && letter == '\r';
  }
  if (!empty && (whole || counts.empty())) counts.push_back(fields);
  return counts;
}

/// Whether lines end with CR alone in `text`, the beginning of a table. False for a text with quotes, because
/// a quoted field may contain any CR.
bool has_old_line_ends(std::string_view text, bool whole) {
  constexpr std::size_t enough = 4096;  // for a header line
  const std::size_t end = text.find('\r');
  return end != std::string_view::npos && end + 1 < text.size() &&
         text.find_first_of("\n\"") == std::string_view::npos && (whole || text.size() >= enough);
}

char find_separator(std::string_view text, bool whole) {
  /// Result of dividing the records into fields at a separator. Better divisions compare greater.
  struct Division {
    bool equal = false;
    bool semicolons = false;  ///< equal division at semicolons; any commas may then be decimal commas
    std::size_t fields = 1;
    bool operator>(const Division& other) const {
      return std::tie(equal, semicolons, fields) > std::tie(other.equal, other.semicolons, other.fields);
    }
  };
  char best = ',';
  Division best_division;
  for (const char separator : {',', ';', '\t'}) {
    const std::vector<std::size_t> counts = field_counts(text, separator, whole);
    if (counts.empty() || counts[0] == 1) continue;
    const bool equal = std::ranges::count(counts, counts[0]) == std::ssize(counts);
    const Division division{.equal = equal, .semicolons = equal && separator == ';', .fields = counts[0]};
    if (division > best_division) {
      best = separator;
      best_division = division;
    }
  }
  return best;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
  start();
}

CsvReader::CsvReader(Source source, std::string name, std::size_t window)
    : source_(std::move(source)), window_(window, '\0'), text_(), name_(std::move(name)) {
  start();
}

void CsvReader::start() {
  more();
  if (const std::string kind = binary_kind(std::as_bytes(std::span(text_))); !kind.empty()) {
    throw Error(Category::data, fmt::format("{}: {}, not a table of text (CSV)", name_, kind));
  }
  if (has_old_line_ends(text_, !source_)) {
    throw Error(Category::data, fmt::format("{}: its lines end with CR alone (old Mac): convert it, such as "
                                            "with tr '\\r' '\\n'",
                                            name_));
  }
  if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
  separator_ = find_separator(text_.substr(at_), !source_);
}

bool CsvReader::more() {
  if (at_ + 1 < text_.size() || !source_) return at_ < text_.size();
  const std::string_view rest = text_.substr(at_);
  std::size_t size = rest.size();
  if (rest.data() != window_.data()) std::ranges::copy(rest, window_.begin());
  at_ = 0;
  while (size < window_.size() && source_) {
    const std::size_t count = source_(std::span(window_).subspan(size));
    if (count == 0) source_ = nullptr;
    size += count;
  }
  text_ = std::string_view(window_).substr(0, size);
  return size > 0;
}

void CsvReader::fail(const std::string& reason) const {
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
    ++at_;  // skips the separator: a field ends only there or at the end of the line
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
  while (!at_line_end() && text_[at_] != separator_) {
    if (text_[at_] == '"') {
      fail("a quote inside a field that does not begin with one");
    }
    field += text_[at_++];
  }
  return field;
}

std::string CsvReader::read_quoted() {
  const std::size_t first_line = line_;
  std::string field;
  for (++at_; more(); ++at_) {
    if (text_[at_] == '"' && text_.substr(at_, 2) != "\"\"") {
      ++at_;
      if (!at_line_end() && text_[at_] != separator_) {
        fail(line_ == first_line
                 ? "characters after a closing quote"
                 : fmt::format("characters after the closing quote of a field that begins in line {}",
                               first_line));
      }
      return field;
    }
    at_ += text_[at_] == '"' ? 1 : 0;
    line_ += text_[at_] == '\n' ? 1 : 0;
    field += text_[at_];
  }
  line_ = first_line;
  fail("a quote that is not closed");
}

CsvFile::CsvFile(const std::filesystem::path& path)
    : file_(path),
      reader_(
          [this](std::span<char> part) {
            const auto count =
                static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), file_.size() - at_));
            file_.read(at_, std::as_writable_bytes(part.first(count)));
            at_ += count;
            return count;
          },
          path.string()) {}

}  // namespace lockstep
