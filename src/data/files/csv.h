#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Records of a text in comma-separated values (RFC 4180): fields may stand in double quotes and then hold
/// commas, line ends and doubled quotes. Lines end in LF or CRLF; empty lines and a UTF-8 byte order mark are
/// passed over.
class CsvReader {
 public:
  /// Fills a part of the text from its front and returns how many bytes came; 0 at the end.
  using Source = std::function<std::size_t(std::span<char>)>;

  /// `text` outlives the reader; `name` is for errors.
  CsvReader(std::string_view text, std::string name);
  /// A text that comes in pieces, of which at most `window` bytes are held.
  CsvReader(Source source, std::string name, std::size_t window = std::size_t{1} << 16);
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  /// Reads the next record into `fields`; false at the end. Throws Error(data) with the line for a quote
  /// that is not closed or stands inside an unquoted field.
  bool next(std::vector<std::string>& fields);
  /// Line on which the last record began, from 1.
  std::size_t line() const { return record_line_; }
  const std::string& name() const { return name_; }

 private:
  void skip_byte_order_mark();
  /// Whether there is a character at at_. Holds the one after it, too, unless the text ends there.
  bool more();
  std::string read_field();
  std::string read_quoted();
  bool at_line_end();
  void skip_line_end();
  [[noreturn]] void fail(const char* reason) const;

  Source source_;
  std::string window_;
  std::string_view text_;  ///< all of it, or what the window holds
  std::string name_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
};

}  // namespace lockstep
