#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/file.h"

namespace lockstep {

/// Reader of separated values (RFC 4180, or with semicolons or tabs in place of commas): fields in double
/// quotes may contain separators, line ends and doubled quotes. Lines end in LF or CRLF; empty lines and a
/// UTF-8 byte order mark are ignored.
class CsvReader {
 public:
  /// Writes the next bytes of the text to the front of its argument and returns their number; 0 at the end.
  using Source = std::function<std::size_t(std::span<char>)>;

  /// `text` must outlive the reader; `name` is for errors. Throws Error(data) for a file of another kind,
  /// such as an image, and for lines that end in CR alone.
  CsvReader(std::string_view text, std::string name);
  /// Reads from `source`, holding at most `window` bytes of the text.
  CsvReader(Source source, std::string name, std::size_t window = std::size_t{1} << 16);
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  /// Reads the next record into `fields`; returns false at the end. Throws Error(data) naming the line for a
  /// quote that is not closed or is inside an unquoted field.
  bool next(std::vector<std::string>& fields);
  /// Line on which the last record began, counted from 1.
  std::size_t line() const { return record_line_; }
  const std::string& name() const { return name_; }
  /// ',', ';' or '\t', detected in the first ten records of the first window. Semicolons are chosen if they
  /// divide all these records into the same number of fields, more than one; else commas or tabs if they do
  /// so, whichever yields more fields; else the separator that divides the first record into most fields.
  char separator() const { return separator_; }

 private:
  void start();
  /// Whether there is a character at at_; reads on if necessary. If there is, the window also contains the
  /// character after it, unless the text ends.
  bool more();
  std::string read_field();
  std::string read_quoted();
  bool at_line_end();
  void skip_line_end();
  [[noreturn]] void fail(const std::string& reason) const;

  Source source_;
  std::string window_;
  std::string_view text_;  ///< the whole text, or the contents of the window
  std::string name_;
  char separator_ = ',';
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
};

/// CSV file that is open for reading; only a window of its text is in memory.
class CsvFile {
 public:
  /// Throws Error(data) for a file that cannot be read.
  explicit CsvFile(const std::filesystem::path& path);
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  CsvReader& reader() { return reader_; }

 private:
  InputFile file_;
  std::uint64_t at_ = 0;
  CsvReader reader_;
};

}  // namespace lockstep
