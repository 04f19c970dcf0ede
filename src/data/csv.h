#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Records of a text in comma-separated values (RFC 4180): fields may stand in double quotes and then hold
/// commas, line ends and doubled quotes. Lines end in LF or CRLF; empty lines and a UTF-8 byte order mark are
/// passed over.
class CsvReader {
 public:
  /// `text` outlives the reader; `name` is for errors.
  CsvReader(std::string_view text, std::string name);

  /// Reads the next record into `fields`; false at the end. Throws Error(data) with the line for a quote
  /// that is not closed or stands inside an unquoted field.
  bool next(std::vector<std::string>& fields);
  /// Line on which the last record began, from 1.
  std::size_t line() const { return record_line_; }
  const std::string& name() const { return name_; }

 private:
  std::string read_field();
  std::string read_quoted();
  bool at_line_end() const;
  void skip_line_end();
  [[noreturn]] void fail(const char* reason) const;

  std::string_view text_;
  std::string name_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
};

}  // namespace lockstep
