#include "models/json/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t max_bytes = 1U << 20;
constexpr std::size_t max_depth = 32;
constexpr std::size_t max_keys = 64;  // of an object, since find() is linear

/// Reads a text and counts its lines, since the parser reports positions with errors only.
class LineIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineIterator() = default;
  LineIterator(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineIterator& operator++() {
    *line_ += *at_ == '\n' ? 1 : 0;
    ++at_;
    return *this;
  }
  LineIterator operator++(int) {
    LineIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineIterator& other) const { return at_ == other.at_; }
  bool operator!=(const LineIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_ = nullptr;
  int* line_ = nullptr;
};

/// Last character that the parser has read, in its spelling: control characters as <U+000A>.
std::string last_character(const std::string& token) {
  constexpr std::size_t control = 8;
  if (token.ends_with('>') && token.size() >= control &&
      token.compare(token.size() - control, 3, "<U+") == 0) {
    return token.substr(token.size() - control);
  }
  std::size_t at = token.empty() ? 0 : token.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(token[at]) & 0xc0) == 0x80) --at;  // inside a UTF-8 character
  return token.substr(at);
}

/// Builds the document from the parser's events. Handlers set `problem` and return false to stop the parser.
class DocumentReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  DocumentReader(const int& line, std::size_t size) : line_(line), size_(size) {}

  JsonValue root;
  std::string problem;
  int problem_line = 1;

  bool null() override { return put({.kind = JsonValue::Kind::null}); }
  bool boolean(bool value) override { return put({.kind = JsonValue::Kind::boolean, .boolean = value}); }
  bool number_integer(number_integer_t value) override { return put_integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return value <= static_cast<std::uint64_t>(INT64_MAX) ? put_integer(static_cast<std::int64_t>(value))
                                                          : stop("number out of range");
  }
  bool number_float(number_float_t value, const string_t&) override {
    return put({.kind = JsonValue::Kind::real, .real = value});
  }
  bool string(string_t& value) override { return put({.kind = JsonValue::Kind::text, .text = value}); }
  bool binary(binary_t&) override { return stop("unexpected binary value"); }

  bool start_object(std::size_t) override { return open(JsonValue::Kind::object); }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    JsonValue& object = *open_.back();
    key_line_ = line_;
    if (object.find(name) != nullptr) {
      return stop(fmt::format("key '{}' occurs twice", printable(name)));
    }
    if (object.keys.size() == max_keys) {
      return stop(fmt::format("an object with more than {} keys", max_keys));
    }
    object.keys.push_back(name);
    return true;
  }

  bool parse_error(std::size_t read, const std::string& token, const nlohmann::detail::exception&) override {
    if (read > size_) return stop("not valid JSON: the text ends too early");
    const std::string unexpected = last_character(token);
    const bool line_ended = unexpected == "<U+000A>";  // already counted
    stop("not valid JSON: unexpected " +
         (line_ended ? "end of the line" : "'" + printable(unexpected) + "'"));
    problem_line -= line_ended ? 1 : 0;
    return false;
  }

 private:
  bool stop(std::string what) {
    problem = std::move(what);
    problem_line = line_;
    return false;
  }

  /// Appends a value. The parser ends a number after reading the next character, perhaps the end of its line,
  /// so values of an object get the line of their key.
  bool put(JsonValue value) {
    if (open_.empty()) {
      value.line = line_;
      root = std::move(value);
      return true;
    }
    JsonValue& parent = *open_.back();
    const bool atom = value.kind != JsonValue::Kind::object && value.kind != JsonValue::Kind::list;
    value.line = atom && parent.kind == JsonValue::Kind::object ? key_line_ : line_;
    parent.items.push_back(std::move(value));
    return true;
  }
  bool put_integer(std::int64_t value) {
    return put({.kind = JsonValue::Kind::integer, .integer = value, .real = static_cast<double>(value)});
  }

  bool open(JsonValue::Kind kind) {
    if (open_.size() == max_depth) {
      return stop(fmt::format("nested more than {} deep", max_depth));
    }
    put({.kind = kind});
    // A list of values grows only while its last value is closed, so these pointers stay valid.
    open_.push_back(open_.empty() ? &root : &open_.back()->items.back());
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const int& line_;
  std::size_t size_;
  int key_line_ = 1;
  std::vector<JsonValue*> open_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

JsonValue parse_json(std::string_view text, const std::string& origin) {
  if (text.size() > max_bytes) {
    throw Error(Category::usage,
                fmt::format("{}: {} bytes are more than the limit of {}", origin, text.size(), max_bytes));
  }
  int line = 1;
  DocumentReader reader(line, text.size());
  const LineIterator first(text.data(), &line);
  const LineIterator last(text.data() + text.size(), &line);
  if (!nlohmann::json::sax_parse(first, last, &reader)) {
    throw Error(Category::usage, fmt::format("{}:{}: {}", origin, reader.problem_line, reader.problem));
  }
  return std::move(reader.root);
}

}  // namespace lockstep
