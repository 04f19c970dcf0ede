#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

/// Command lines of programs, and what they print.
namespace lockstep::test {

using Words = std::vector<std::string>;

/// Words of `line`, separated by spaces. Each {} becomes the next of `values`, which may contain spaces.
template <class... Values>
Words words(const std::string& line, const Values&... values) {
  [[maybe_unused]] const auto text_of = [](const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_integral_v<Value>) {
      return std::to_string(value);
    } else if constexpr (requires { value.string(); }) {
      return value.string();
    } else {
      return std::string(value);
    }
  };
  const Words texts{text_of(values)...};
  std::istringstream stream(line);
  Words all{std::istream_iterator<std::string>(stream), {}};
  std::size_t next = 0;
  for (std::string& word : all) {
    for (std::size_t at = 0; (at = word.find("{}", at)) != std::string::npos; at += texts[next++].size()) {
      word.replace(at, 2, texts.at(next));
    }
  }
  return all;
}

inline Words operator+(Words first, const Words& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

/// Lines of `text`, without their ends.
inline Words lines_of(const std::string& text) {
  std::istringstream stream(text);
  Words lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_TRUE(holds(text, part)) << "no '" << part << "' in: " << text;
}

/// Number of occurrences of `part` in `text`.
inline int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The rest of the line after the last `mark` in `text`; empty: there is none.
inline std::string after_last(const std::string& text, const std::string& mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// The rest of the line of `text` that starts with `start`; fails the test if there is no such line.
inline std::string line_after(const std::string& text, const std::string& start) {
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(start)) return line.substr(start.size());
  }
  ADD_FAILURE() << "no line starts with '" << start << "' in:\n" << text;
  return {};
}

}  // namespace lockstep::test
