#include "core/json/json.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "core/text/printable.h"

namespace lockstep {
namespace {

constexpr std::size_t max_depth = 32;
constexpr std::size_t max_values = std::size_t{4} << 20;

/// Iterates over a text and counts its lines, because the parser reports positions only with errors.
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

 private:
  const char* at_ = nullptr;
  int* line_ = nullptr;
};

/// Last character that the parser has read, as `token` spells it: control characters as <U+000A>.
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

struct Place {
  std::size_t number = 0;  ///< of the value in the document, in the order in which values begin
  std::string path{};
};

/// Whether `value` is or contains `target`. Advances `place` from `value` to `target`, or past `value` if
/// `target` is not in it.
bool find_place(const JsonValue& value, const JsonValue& target, Place& place) {
  if (&value == &target) return true;
  ++place.number;
  if (!value.is_structured()) return false;
  const std::size_t length = place.path.size();
  std::size_t index = 0;
  for (auto item = value.begin(); item != value.end(); ++item, ++index) {
    place.path += value.is_array() ? fmt::format("[{}]", index)
                                   : fmt::format("{}{}", length == 0 ? "" : ".", printable(item.key()));
    if (find_place(*item, target, place)) return true;
    place.path.resize(length);
  }
  return false;
}

Place place_of(const JsonValue& root, const JsonValue& target) {
  Place place;
  find_place(root, target, place);
  return place;
}

/// Replaces strings that are not UTF-8 with lists of their bytes.
void list_bytes(JsonValue& json) {
  if (json.is_string()) {
    json = json_of_bytes(json.get<std::string>());
  } else if (json.is_structured()) {
    for (JsonValue& item : json) list_bytes(item);
  }
}

}  // namespace

/// Builds the document from the parser's events.
class JsonDocument::Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(JsonDocument& document, const int& line, std::size_t size)
      : document_(document), line_(line), size_(size) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not part of JSON texts
  bool start_object(std::size_t) override { return open(JsonValue::object()); }
  bool start_array(std::size_t) override { return open(JsonValue::array()); }
  bool end_array() override {
    open_.pop_back();
    return true;
  }

  bool key(string_t& name) override {
    key_ = std::move(name);
    key_line_ = line_;
    return true;
  }

  bool end_object() override {
    const auto& members = open_.back()->get_ref<const JsonValue::object_t&>();
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : members) keys.emplace_back(key);
    std::ranges::sort(keys);
    const auto repeated = std::ranges::adjacent_find(keys);
    if (repeated != keys.end()) {
      const auto last = std::find_if(members.rbegin(), members.rend(),
                                     [&](const auto& member) { return member.first == *repeated; });
      document_.refuse(last->second, "key occurs twice");
    }
    return end_array();
  }

  bool parse_error(std::size_t read, const std::string& token, const nlohmann::detail::exception&) override {
    if (document_.source_.first_byte != 0) {
      document_.fail(line_, "",
                     fmt::format("not valid JSON at byte {}", document_.source_.first_byte + read - 1));
    }
    if (read > size_) document_.fail(line_, "", "not valid JSON: the text ends too early");
    const std::string unexpected = last_character(token);
    const bool line_ended = unexpected == "<U+000A>";  // the line end is already counted
    document_.fail(
        line_ - (line_ended ? 1 : 0), "",
        "not valid JSON: unexpected " + (line_ended ? "end of the line" : "'" + printable(unexpected) + "'"));
  }

 private:
  /// Refuses the next element or member of the innermost open array or object.
  [[noreturn]] void refuse(const std::string& reason) const {
    document_.fail(line_, place_of(document_.root_, *open_.back()).path, reason);
  }

  /// Appends a value. The parser reports a number only after reading the next character, perhaps the end of
  /// its line, so numbers in an object get the line of their key.
  bool put(JsonValue value) {
    std::vector<int>& lines = document_.lines_;
    if (lines.size() == max_values) refuse(fmt::format("the text has more than {} values", max_values));
    const bool in_object = !open_.empty() && open_.back()->is_object();
    lines.push_back(in_object && !value.is_structured() ? key_line_ : line_);
    if (open_.empty()) {
      document_.root_ = std::move(value);
    } else if (in_object) {
      // operator[] would compare the key with all others.
      open_.back()->get_ref<JsonValue::object_t&>().emplace_back(std::move(key_), std::move(value));
    } else {
      open_.back()->push_back(std::move(value));
    }
    return true;
  }

  bool open(JsonValue value) {
    if (open_.size() == max_depth) refuse(fmt::format("nested more than {} deep", max_depth));
    put(std::move(value));
    // A list or object grows only while its last value is closed, so these pointers stay valid.
    open_.push_back(open_.empty()               ? &document_.root_
                    : open_.back()->is_object() ? &open_.back()->get_ref<JsonValue::object_t&>().back().second
                                                : &open_.back()->back());
    return true;
  }

  JsonDocument& document_;
  const int& line_;
  std::size_t size_;
  std::string key_;
  int key_line_ = 1;
  std::vector<JsonValue*> open_;
};

JsonDocument::JsonDocument(std::string_view text, JsonSource source) : source_(std::move(source)) {
  int line = 1;
  Builder builder(*this, line, text.size());
  const LineIterator first(text.data(), &line);
  const LineIterator last(text.data() + text.size(), &line);
  nlohmann::json::sax_parse(first, last, &builder);
}

void JsonDocument::refuse(const JsonValue& value, const std::string& reason) const {
  const Place place = place_of(root_, value);
  fail(lines_.at(place.number), place.path, reason);
}

void JsonDocument::refuse_line(const JsonValue& value, const std::string& reason) const {
  fail(lines_.at(place_of(root_, value).number), "", reason);
}

void JsonDocument::fail(int line, const std::string& path, const std::string& reason) const {
  const std::string at = source_.first_byte == 0 ? fmt::format(":{}", line) : "";
  throw Error(source_.category,
              fmt::format("{}{}: {}{}{}", source_.file, at, path, path.empty() ? "" : ": ", reason));
}

void JsonDocument::check_object(const JsonValue& value) const {
  if (!value.is_object()) refuse(value, "must be an object");
}

std::uint64_t JsonDocument::whole_number(const JsonValue& value, std::uint64_t max) const {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max) {
    refuse(value, fmt::format("must be a whole number from 0 to {}", max));
  }
  return value.get<std::uint64_t>();
}

void JsonDocument::read(const JsonValue& value, std::string& text) const {
  if (source_.is_message && value.is_array()) return read_bytes(value, text);
  if (!value.is_string()) refuse(value, "must be a text");
  text = value.get_ref<const std::string&>();
}

void JsonDocument::read(const JsonValue& value, bool& choice) const {
  if (!value.is_boolean()) refuse(value, "must be true or false");
  choice = value.get<bool>();
}

void JsonDocument::read(const JsonValue& value, double& number) const {
  if (!value.is_number()) refuse(value, "must be a number");
  number = value.get<double>();
}

void JsonDocument::read(const JsonValue& value, Facts& facts) const {
  check_object(value);
  for (const auto& [name, item] : value.items()) {
    read_bytes(item, facts.emplace_back(name, "").second);
  }
}

void JsonDocument::read_bytes(const JsonValue& value, std::string& bytes) const {
  if (!value.is_array()) return read(value, bytes);
  std::vector<unsigned char> list;
  read(value, list);
  bytes.assign(list.begin(), list.end());
}

std::string json_message(JsonValue json) {
  list_bytes(json);
  return json.dump(-1, ' ', true);
}

JsonValue json_of_bytes(const std::string& bytes) {
  JsonValue text = bytes;
  try {
    static_cast<void>(text.dump());
  } catch (const nlohmann::json::type_error&) {
    text = std::vector<unsigned char>(bytes.begin(), bytes.end());
  }
  return text;
}

JsonValue json_of(const Facts& facts) {
  JsonValue object = JsonValue::object();
  for (const auto& [name, text] : facts) {
    if (object.contains(name)) {
      throw Error(Category::internal, fmt::format("name '{}' occurs twice", printable(name)));
    }
    object[name] = json_of_bytes(text);
  }
  return object;
}

}  // namespace lockstep
