#include "data/files/csv.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/tables.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using Fields = std::vector<std::string>;

std::vector<Fields> records(std::string_view text) {
  CsvReader reader(text, "t.csv");
  std::vector<Fields> all;
  for (Fields fields; reader.next(fields);) all.push_back(fields);
  return all;
}

TEST(Csv, Rfc4180) {
  EXPECT_EQ(records("a,b\n1,2\n"), (std::vector<Fields>{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records("a,b\r\n1,2"), (std::vector<Fields>{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records("\xef\xbb\xbf"
                    "a\n"),
            (std::vector<Fields>{{"a"}}));
  EXPECT_EQ(records("\"a,b\",\"c\"\"d\"\n"), (std::vector<Fields>{{"a,b", "c\"d"}}));
  EXPECT_EQ(records("\"a\nb\",c\n"), (std::vector<Fields>{{"a\nb", "c"}}));
  EXPECT_EQ(records("x,\"a\rb\""), (std::vector<Fields>{{"x", "a\rb"}}));
  EXPECT_EQ(records(",\n\n,,\n"), (std::vector<Fields>{{"", ""}, {"", "", ""}}));
  EXPECT_EQ(records(""), std::vector<Fields>{});
}

/// Records of a text that is read byte by byte through a window of `window` bytes.
std::vector<Fields> streamed_records(std::string_view text, std::size_t window) {
  CsvReader reader(
      [&](std::span<char> part) {
        const std::size_t count = text.substr(0, 1).copy(part.data(), part.size());
        text.remove_prefix(count);
        return count;
      },
      "t.csv", window);
  std::vector<Fields> all;
  for (Fields fields; reader.next(fields);) all.push_back(fields);
  return all;
}

TEST(Csv, TextsMayComeInPieces) {
  for (const std::string_view text :
       {"", "a", "a,b\r\n1,2", "\xef\xbb\xbfx,y\n\n3,4\n", "\"a,\r\n\"\"b\"\"\",\"\"\r\n,\n,,\n",
        "a\rb,c\r\r\nlonger fields than any window,e\n", "a\r"}) {
    for (const std::size_t window : {3U, 4U, 7U, 100U}) {
      EXPECT_EQ(streamed_records(text, window), records(text)) << text << ", window of " << window;
    }
  }
  expect_error(Category::data, {"t.csv: line 2: a quote that is not closed"},
               [] { streamed_records("a\n\"b", 3); });
}

TEST(Csv, LinesAreCountedThroughQuotes) {
  CsvReader reader("\"a\nb\"\n\nc\n", "t.csv");
  Fields fields;
  ASSERT_TRUE(reader.next(fields));
  EXPECT_EQ(reader.line(), 1U);
  ASSERT_TRUE(reader.next(fields));
  EXPECT_EQ(reader.line(), 4U);
}

TEST(Csv, QuotesThatDoNotFit) {
  const std::vector<std::pair<std::string_view, std::string>> cases = {
      {"a\n\"b\nc\nd\n", "line 2: a quote that is not closed"},
      {"a\"b\n", "line 1: a quote inside"},
      {"\"a\"b\n", "line 1: characters after a closing quote"},
      {"a\n\"b\n\"c\n", "line 3: characters after the closing quote of a field that begins in line 2"}};
  for (const auto& [text, message] : cases) {
    expect_error(Category::data, {"t.csv: " + message}, [&text = text] { records(text); });
  }
}

TEST(Csv, LinesThatEndWithCrAloneAreRefused) {
  const std::string rows = "x,label\r1,red\r2,red\r", long_rows = rows + std::string(100'000, '3') + ",red\r";
  for (const std::string& text : {rows, long_rows}) {
    for (const auto& read :
         {&records, +[](std::string_view from) { return streamed_records(from, 65536); }}) {
      expect_exact_error(
          Category::data,
          R"(t.csv: its lines end with CR alone (old Mac): convert it, such as with tr '\r' '\n')",
          [&] { read(text); });
    }
  }
}

TEST(Csv, SeparatorsAreFound) {
  const std::vector<std::pair<std::string_view, char>> cases = {
      {"a,b\n1,2\n", ','},
      {"a;b\n1;2\n", ';'},
      {"a\tb\n1\t2\n", '\t'},
      {"a;b\n1,5;2,5\n", ';'},
      {"a;b;c\n1,5;2,5;3\n1;2,5;3\n", ';'},
      {"a b;c,d\n1;2\n3;4\n", ';'},  // commas split only the header
      {"\"x,y,z\";b\n1;2\n", ';'},
      {"a;b,c;d\n1,2\n", ','},
      {"a,b\n1\n", ','},
      {"a,b;c\n1,2;3\n", ';'},              // both separators fit
      {"5,1;3,5;1,4\n4,9;3,0;1,4\n", ';'},  // commas fit too
      {"a,\tb,\tc\n1,\t2,\t3\n", ','},
      {"a\n1;2\n", ','},  // only the header decides
      {"\"a\nb\";c\r\n\r\n1;2", ';'},
      {"", ','}};
  for (const auto& [text, separator] : cases) {
    EXPECT_EQ(CsvReader(text, "t.csv").separator(), separator) << text;
  }
  EXPECT_EQ(records("a;\"b;c\"\n1;2,5\n"), (std::vector<Fields>{{"a", "b;c"}, {"1", "2,5"}}));
  const std::string wide = std::string(100'000, 'x') + ";y\n1;2\n";  // longer than the first window
  EXPECT_EQ(streamed_records(wide, std::size_t{1} << 16)[1], (Fields{"1;2"}));
}

/// Feature cells, row by row: numbers, texts, and "-" for a missing value.
Fields cells(const CsvTable& table) {
  Fields all;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const CsvCell cell = table.cells[row][i];
      all.push_back(cell.is_gap()      ? "-"
                    : cell.is_number() ? fmt::format("{}", cell.number())
                                       : "'" + table.columns[i].texts[cell.text()] + "'");
    }
  }
  return all;
}

Fields names(const CsvTable& table) {
  Fields all;
  for (const CsvColumn& column : table.columns) all.push_back(column.name);
  return all;
}

TEST(CsvTable, LabelColumn) {
  EXPECT_EQ(names(parsed("label,x\nred,1\n")), Fields{"x"});
  EXPECT_EQ(parsed("x,y\n1,2\n").labels.column, "y");
  const CsvTable chosen = parsed("x, kind ,y\n1,a,3\n", {.label_column = "kind"});
  EXPECT_EQ(names(chosen), (Fields{"x", "y"}));
  EXPECT_EQ(cells(chosen), (Fields{"1", "3"}));
  EXPECT_EQ(chosen.labels.texts, Fields{"a"});
}

TEST(CsvTable, DroppedColumns) {
  const std::string text = "id,x,label,note\n7,1,a,\xff\n";
  EXPECT_EQ(names(parsed(text, {.drop_columns = {"note", "id"}})), Fields{"x"});
  const CsvTable last = parsed(text, {.drop_columns = {"note", "label"}});
  EXPECT_EQ(names(last), Fields{"id"});
  EXPECT_EQ(last.labels.column, "x");
  expect_error(
      Category::data,
      {"drop-columns: t.csv: line 1: unknown column 'notes'; did you mean 'note'? known: id, x, label"},
      [&] { parsed(text, {.drop_columns = {"notes"}}); });
  const std::string commas = "\"date, time\",\"a,b\",a,b,x,label\n1,2,3,4,5,c\n";
  EXPECT_EQ(names(parsed(commas, {.drop_columns = {"b", "date", " time"}})), (Fields{"a,b", "a", "x"}));
  EXPECT_EQ(names(parsed(commas, {.drop_columns = {"\"date", " time\"", "b"}})), (Fields{"a,b", "a", "x"}));
  EXPECT_EQ(names(parsed(commas, {.drop_columns = {"a", "b"}})), (Fields{"date, time", "a,b", "x"}));
  EXPECT_EQ(names(parsed(commas, {.drop_columns = {"\"a", "b\""}})), (Fields{"date, time", "a", "b", "x"}));
  EXPECT_EQ(names(parsed("\",a\",\"b,\",x,label\n1,2,3,c\n", {.drop_columns = {"\"", "a\"", "\"b", "\""}})),
            Fields{"x"});
  expect_error(Category::data, {"unknown column 'date'"}, [&] {
    parsed(commas, {.drop_columns = {"date", "x"}});
  });
  expect_error(Category::usage, {"drop-columns: 'x' is the label column"},
               [&] { parsed(text, {.label_column = "x", .drop_columns = {"x"}}); });
  expect_error(Category::data, {"t.csv: line 1: no column of features"}, [&] {
    parsed(text, {.drop_columns = {"note", "id", "x"}});
  });
}

TEST(CsvTable, Cells) {
  const std::vector<std::pair<std::string, Fields>> cases = {
      {"x;label\n1,5;a\n-1.5;a\n1.000,5;a\n1,2,3;a\n", {"1.5", "-1.5", "'1.000,5'", "'1,2,3'"}},
      {"x\tlabel\n1,5\ta\n+2\ta\n", {"'1,5'", "2"}},
      {"x,label\n\"1,5\",a\n1e-400,a\n1e3,a\n", {"'1,5'", "0", "1000"}},
      {"x,label\n1e-5000,a\n-1E5000,a\n-1e400,a\n", {"0", "'-1E5000'", "'-1e400'"}},
      {"x,label\n,a\n NA ,a\nn/a,a\nNaN,a\nNULL,a\nNone,a\n?,a\n\"\",a\n", Fields(8, "-")},
      {"x,label\nnan.,a\nnana,a\n-,a\n", {"'nan.'", "'nana'", "'-'"}},
      {"x,label\ninf,a\n-1e999,a\n+-1,a\n1.5z,a\n", {"'inf'", "'-1e999'", "'+-1'", "'1.5z'"}}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(cells(parsed(text)), expected) << text;
}

TEST(CsvTable, ColumnsWithoutANameHaveTheirNumber) {
  EXPECT_EQ(names(parsed(",x,,label\n0,1,2,a\n")), (Fields{"column1", "x", "column3"}));
  EXPECT_EQ(names(parsed(",x,label\n0,1,a\n", {.drop_columns = {"column1"}})), Fields{"x"});
  EXPECT_EQ(names(parsed("0,1,label\n3,4,a\n")), (Fields{"0", "1"}));  // the names number pixels
}

TEST(CsvTable, WarnsOfAHeaderThatIsARow) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"39,State-gov,77516,Bachelors,13,40,<=50K\n50,Private,83311,HS,9,13,<=50K\n", "39"},
      {"red,7.5,no\nblue,3,yes\n", "7.5"},
      {"red,7,no\nblue,3,yes\n", "7"},
      {"red,1.5,2.5,no\nblue,3,4,yes\n", "1.5"},
      {"1,0,3,a\n2,1,1,b\n", "1"},
      {"5,05,a\n2,1,b\n", "5"},
      {"0,1,2,label\n3,4,5,a\n", ""},
      {",0,1,label\n0,4,5,a\n", ""},
      {"country,2019,2020,label\nx,4,5,a\n", ""},
      {"country,1990,1995,2000,label\nx,4,5,6,a\n", ""},
      {"name,2020,label\nx,4,a\n", ""},
      {"402,400,398,label\n4,5,6,a\n", ""},  // the names are wavelengths
      {"3,5,8,label\n0,1,0,a\n", ""},
      {"0,label\n3,a\n", ""},
      {"7,9,label\na,b,a\n", ""}};  // text columns
  for (const auto& [text, name] : cases) {
    const Fields expected = {fmt::format(
        "t.csv: the first line names the columns, but '{}' is a number: is the header missing?", name)};
    EXPECT_EQ(parsed(text).warnings, name.empty() ? Fields() : expected) << text;
  }
}

/// Warnings of a table with a column x of these cells.
Fields warnings(const Fields& cells) { return parsed(column(cells, '\t')).warnings; }

TEST(CsvTable, WarnsOfNumbersInAnotherNotation) {
  const auto warning = [](const char* example, const char* more = "") {
    return Fields{fmt::format(
        "t.csv: column x: numbers such as '{}' count as texts: write them like 1234.5{}", example, more)};
  };
  const char* const semicolons = ", or separate the cells by semicolons";
  for (const char* cell : {"1,95", "-10,9", "-1,9"}) {
    EXPECT_EQ(warnings({cell, "NA", "4"}), warning(cell, semicolons));
  }
  for (const char* cell :
       {"$1.9", "$1,9", "-$1", "€ -5", "3,50 €", "1,234", "1,234,567.8", "1.234.567,8", "$1.234.567",
        "1'000.5", "1 234,5 €", "10 %", "1,5%", "1 500", "12 500 000", "1 234,5"}) {
    EXPECT_EQ(warnings({cell, "NA", "4"}), warning(cell));
  }
  EXPECT_EQ(warnings({"1,8", "1,9", "2,0"}), warning("1,8", semicolons));
  EXPECT_EQ(warnings({"0,1", "0,5", "0,2"}), warning("0,1", semicolons));
  EXPECT_EQ(warnings({"1,8", "1,95"}), warning("1,95", semicolons));
  EXPECT_EQ(warnings({"555 123", "1 500", "17 800"}), warning("555 123"));
  for (const auto& cells : {Fields{"1,2", "1,3", "2,3"}, Fields{"2,1", "3,1", "3,2", "1,2,3"},
                            Fields{"1,1", "2,0"}, Fields{"555 123", "555 124", "666 123"}}) {
    EXPECT_EQ(warnings(cells), Fields()) << cells[0];
  }
  for (const char* cell : {"red", "1.2.3", "192.168.0.1", "3+", "<1", "1-2", "1,9", "0,1", "1,2,3", "12:30",
                           "1e999", "$", "030 123 456", "555 123", "+49 170 123 456", "10.100.200.255",
                           "10.100.200", "1,234.567,8", "$1,234.567.8"}) {
    EXPECT_EQ(warnings({cell, "4"}), Fields()) << cell;
  }
  EXPECT_EQ(warnings({"1,95", "2,55", "few"}), warning("1,95", semicolons));
  EXPECT_EQ(warnings({"1,95", "few"}), Fields());
  EXPECT_EQ(parsed("x;label\n1,95;a\n").warnings, Fields());
  CsvTable table = parsed("few\tx\ty\tlabel\n7%\t1,95\t$2\ta\na\t1,95\t$2\ta\n");
  EXPECT_EQ(table.warnings.size(), 1U);
  EXPECT_TRUE(table.warnings[0].starts_with("t.csv: columns x, y: numbers such as '1,95'"))
      << table.warnings[0];
  const CsvTable test = split_off_test_rows(table, 0.5);
  EXPECT_EQ(table.warnings.size(), 1U);
  EXPECT_EQ(test.warnings, Fields());
}

TEST(CsvTable, WarnsOfDecimalPointsBesideCommas) {
  const std::string mixed =
      "'901,5' (line 2) has a decimal comma, but '1.250' (line 3) has a decimal point and counts as 1.25: "
      "write all numbers in one way";
  EXPECT_EQ(parsed("x;label\n901,5;a\n1.250;a\n3;a\n").warnings, Fields{"t.csv: column x: " + mixed});
  EXPECT_EQ(parsed("x;y;label\n901,5;1.5;a\n1.250;2,5;a\n").warnings,
            Fields{"t.csv: columns x, y: " + mixed});
  EXPECT_EQ(parsed("x;y;label\n901,5;1.5;a\n3;2.5;a\n").warnings, Fields());
  const DatasetPair numbers = csv_datasets("x;y\n1;901,5\n2;1.250\n", "x;y\n1;3\n", Task::regression);
  EXPECT_EQ(numbers.train->warnings(), Fields{"t.csv: column y: " + mixed});
  const DatasetPair test = csv_datasets("x;label\n1;a\n2;b\n", "x;label\n901,5;a\n1.250;b\n");
  EXPECT_EQ(test.test->warnings(), Fields{"t.csv: column x: " + mixed});
  const TemporaryFolder folder;
  const std::string file = folder.write("t.csv", "x;y\n1;901,5\n2;1.250\n").string();
  const auto measured = read_labelled_tables(
      {.directory = file},
      {.encoding = *numbers.train->table_encoding(), .scale = numbers.train->target_scale()});
  EXPECT_EQ(measured.at(0)->warnings(), Fields{file + ": column y: " + mixed});
}

TEST(CsvTable, WarnsOfTextsAmongNumbers) {
  EXPECT_EQ(warnings({"1", "3+", "few", "2", "NA", "1", "4"}),
            Fields{"t.csv: column 'x' holds categories, since 'few' (line 4) is not a number, as 4 of its 6 "
                   "cells are: correct such cells, or leave them empty for missing values"});
  EXPECT_EQ(warnings({"1", "few", "many"}), Fields());
  EXPECT_EQ(warnings({"1", "2", "3+"}), Fields());
  EXPECT_EQ(warnings({"1", "2", "NA"}), Fields());
}

TEST(CsvTable, BadRowsNameLineAndColumn) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "t.csv: is empty"},
      {"\xff\xd8\xff\xe0,label\n\x01,a\n", "t.csv: a JPEG image, not a table of text (CSV)"},
      {"x,label\n", "t.csv: no rows after the header"},
      {"x,label\n1,a\n2\n", "t.csv: line 3: 1 field, the header has 2"},
      {"x,label\n1,a,b\n", "t.csv: line 2: 3 fields, the header has 2"},
      {"x,label\n1,\n", "t.csv: line 2, column 'label': no label"},
      {"x,x,label\n1,2,a\n", "t.csv: line 1: two columns are called 'x'"},
      {"5.1,3.5,0\n4.9,3.0,0\n", "t.csv: line 1: '5.1' is a number; the first line must name the columns"},
      {"5.1,3.5,setosa\n4.9,3.0,setosa\n", "t.csv: line 1: '5.1' is a number"},
      {"5,1;3,5;setosa\n4,9;3,0;setosa\n", "t.csv: line 1: '5,1' is a number"},
      {"7,3,0\n4,3,0\n", "t.csv: line 1: '7' is a number"},
      {"x,gr\xf6\xdf"
       "e,label\n1,2,a\n",
       "t.csv: line 1: a text is not UTF-8"},
      {"x,label\n1,a\ngr\xf6\xdf"
       "e,a\n",
       "t.csv: line 3, column 'x': a text is not UTF-8"},
      {"x,label\n1,gr\xf6\xdf"
       "e\n",
       "t.csv: line 2, column 'label': a text is not UTF-8"},
      {std::string("\xff\xfex\0,\0y\0\n\0", 10), "t.csv: line 1: is UTF-16: save the table as UTF-8"},
      {"label\na\n",
       "t.csv: line 1: no column of features beside that of the labels; columns are separated by"},
      {"x|label\n1|a\n", "t.csv: line 1: no column of features beside that of the labels"}};
  for (const auto& [text, message] : cases) {
    expect_error(Category::data, {message}, [&text = text] { parsed(text); });
  }
  expect_error(Category::data, {"t.csv: line 1: unknown label column 'nope'; known: x, label"},
               [] { parsed("x,label\n1,a\n", {.label_column = "nope"}); });
  expect_error(Category::data, {"unknown label column 'lable'; did you mean 'label'? known: x?y, label"},
               [] { parsed("\"x\ny\",label\n1,a\n", {.label_column = "lable"}); });
}

TEST(CsvTable, ClassesAreSortedAsNumbersOrTexts) {
  EXPECT_EQ(sorted_classes({"10", "9", "10", "-1"}), (Fields{"-1", "9", "10"}));
  EXPECT_EQ(sorted_classes({"10", "9", "b"}), (Fields{"10", "9", "b"}));
}

TEST(CsvTable, LabelsMayBeNumbers) {
  EXPECT_EQ(label_numbers(parsed("x;y\n1;2,5\n1;-3\n").labels), (std::vector<double>{2.5, -3.0}));
  expect_error(Category::data, {"t.csv: line 3, column 'y': 'NA' is not a finite number"},
               [] { label_numbers(parsed("x,y\n1,2\n1,NA\n").labels); });
}

/// Table of `rows` rows, each with a text and a consecutive number.
std::string numbered(int rows, int first) {
  std::string text = "id,name,x,label\n";
  for (int row = 0; row < rows; ++row) text += fmt::format("{},n{},{},a\n", first + row, row, row % 7);
  return text;
}

TEST(CsvTable, ColumnsThatIdentifyTheirRow) {
  const auto row_ids = [](const CsvTable& table) {
    Fields found;
    for (const CsvColumn& column : table.columns) {
      if (column.row_id) found.push_back(column.name);
    }
    return found;
  };
  EXPECT_EQ(row_ids(parsed(numbered(10, 1))), (Fields{"id", "name"}));
  EXPECT_EQ(row_ids(parsed(numbered(10, -3))), (Fields{"id", "name"}));
  EXPECT_EQ(row_ids(parsed(numbered(9, 1))), Fields());  // too few rows to tell
  EXPECT_EQ(row_ids(parsed(numbered(10, 0) + "10,n3,4,a\n")), Fields{"id"});
  EXPECT_EQ(row_ids(parsed(numbered(10, 0) + "11,n10,4,a\n")), Fields{"name"});
  EXPECT_EQ(row_ids(parsed(numbered(10, 0) + ",,4,a\n")), Fields());
}

std::vector<float> row(const Dataset& data, std::uint64_t id) {
  std::vector<std::uint8_t> buffer;
  const auto bytes = data.sample(id, buffer);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(values.data()));
  return values;
}

TEST(CsvDataset, StandardizedByTheTrainingRows) {
  const DatasetPair pair = csv_datasets("x,c,label\n1,0.1,b\n3,0.1,a\n5,0.1,a\n", "label,y,c,x\nb,9,7,3\n");
  EXPECT_EQ(pair.train->shape(), (Shape{2, 1, 1}));
  EXPECT_EQ(pair.train->encoding(), Encoding::floats);
  EXPECT_EQ(pair.train->class_names(), (Fields{"a", "b"}));
  EXPECT_EQ(pair.train->label(0), 1);
  EXPECT_EQ(row(*pair.train, 0), (std::vector<float>{static_cast<float>(-2.0 / std::sqrt(8.0 / 3.0)), 0.0F}));
  EXPECT_EQ(row(*pair.test, 0), (std::vector<float>{0.0F, 0.0F}));
}

TEST(CsvDataset, TextsAndGapsHaveElementsOfTheirOwn) {
  const DatasetPair pair = csv_datasets("port,x,label\nb,1,0\na,,1\n,3,1\n", "port,x,label\nb,,0\nc,2,0\n");
  EXPECT_EQ(pair.train->shape(), (Shape{5, 1, 1}));
  EXPECT_EQ(row(*pair.train, 0), (std::vector<float>{0, 1, 0, -1, 0}));
  EXPECT_EQ(row(*pair.train, 1), (std::vector<float>{1, 0, 0, 0, 1}));
  EXPECT_EQ(row(*pair.train, 2), (std::vector<float>{0, 0, 1, 1, 0}));
  EXPECT_EQ(row(*pair.test, 0), (std::vector<float>{0, 1, 0, 0, 1}));
  EXPECT_EQ(row(*pair.test, 1), (std::vector<float>{0, 0, 0, 0, 0}));
  EXPECT_EQ(pair.train->warnings(), Fields());
  EXPECT_EQ(csv_datasets("x,label\n10%,a\n20%,b\n", "x,label\n10%,a\n").train->warnings().size(), 1U);
  EXPECT_EQ(pair.test->warnings(),
            Fields{"t.csv: a cell has a text that no training row has in that column ('c' "
                   "in line 3, column 'port'): it counts as none of its texts"});
  EXPECT_EQ(pair.train->table_encoding()->columns, pair.test->table_encoding()->columns);
}

TEST(CsvDataset, AnotherTrainingColumnIsNoSuggestion) {
  expect_exact_error(Category::data, "t.csv: line 1: column of the training rows is missing: 'width2'",
                     [] { csv_datasets("width1,width2,label\n1,2,a\n3,4,b\n", "width1,label\n1,a\n"); });
}

TEST(CsvDataset, TestTablesThatDoNotFit) {
  const std::string train = "x,label\n1,a\n2,b\n", large(5'000'000, 'y');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"x,label\n1,a\n1,c\n", "t.csv: line 3, column 'label': class 'c' is not in the training rows"},
      {"x,label\n1," + large + "\n",
       "column 'label': class '" + large.substr(0, 100) + "...' is not in the training rows"},
      {"X,label\n1,a\n", "t.csv: line 1: column of the training rows is missing: 'x'"},
      {"y,Label\n1,a\n",
       "t.csv: line 1: columns of the training rows are missing: 'x', 'label'; did you mean "
       "Label?"},
      {"x,label\n", "t.csv: no rows after the header"},
      {"x,label\n1\n", "t.csv: line 2: 1 field, the header has 2"},
      {"x,label\none,a\n", "t.csv: line 2, column 'x': 'one' is not a finite number"}};
  for (const auto& [test, message] : cases) {
    expect_error(Category::data, {message}, [&, &test = test] { csv_datasets(train, test); });
  }
  const std::string single = "x,kind\n1,a\n2,a\n";
  expect_error(Category::data, {"t.csv: column 'kind': only one class, 'a', in all training rows"},
               [&] { csv_datasets(single, single); });
  const std::string control = std::string("x,label\n1,a\n2,b") + '\0' + "\n";
  expect_error(Category::data,
               {"t.csv: line 3, column 'label': class 'b?' has control characters in its name"},
               [&] { csv_datasets(control, control); });
}

TEST(CsvDataset, NumbersToPredictAreStandardizedByTheTrainingRows) {
  const DatasetPair pair = csv_datasets("x,price\n1,100\n2,300\n", "x,price\n5,400\n", Task::regression);
  for (const Dataset* part : {pair.train.get(), pair.test.get()}) {
    EXPECT_EQ(part->task(), Task::regression);
    EXPECT_EQ(part->classes(), 1);
    EXPECT_EQ(part->class_names(), Fields{"price"});
    EXPECT_EQ(part->target_scale().mean, 200.0);
    EXPECT_EQ(part->target_scale().deviation, 100.0);
  }
  EXPECT_EQ(pair.train->targets(0)[0], -1.0F);
  EXPECT_EQ(pair.train->targets(1)[0], 1.0F);
  EXPECT_EQ(pair.test->targets(0)[0], 2.0F);
  const char* const large = "x,y\n1,10000000000001\n2,10000000000003\n";
  EXPECT_EQ(csv_datasets(large, large, Task::regression).train->targets(1)[0], 1.0F);
  EXPECT_NE(csv_datasets("x,y\n1,1\n2,3\n", "x,y\n5,4\n", Task::regression).train->fingerprint(),
            csv_datasets("x,y\n1,1\n2,4\n", "x,y\n5,4\n", Task::regression).train->fingerprint());
}

TEST(CsvDataset, NumbersThatCannotBePredicted) {
  const auto refused = [](const char* train, const char* test, const char* words) {
    expect_error(Category::data, {words}, [&] { csv_datasets(train, test, Task::regression); });
  };
  refused("x,y\n1,1\n2,two\n", "x,y\n1,1\n", "t.csv: line 3, column 'y': 'two' is not a finite number");
  refused("x,y\n1,1\n2,2\n", "x,y\n1,b\n", "t.csv: line 2, column 'y': 'b' is not a finite number");
  refused("x,y\n1,0.1\n2,0.1\n3,0.1\n", "x,y\n1,1\n",
          "t.csv: column 'y': the number to predict is 0.1 in all training rows");
  refused("x,y\n1,1e200\n2,-1e200\n", "x,y\n1,1\n", "t.csv: column 'y': its numbers are too large");
}

/// The table has as many classes as rows, as if a column of measurements were used as labels. Comparing each
/// row with all classes would take minutes.
TEST(CsvDataset, AnyNumberOfClasses) {
  constexpr int rows = 500000;
  std::string text = "x,y\n";
  for (int row = 0; row < rows; ++row) text += fmt::format("1,{}.5\n", (row * 7919LL) % rows);
  const DatasetPair data = csv_datasets(text, text);
  EXPECT_EQ(data.train->classes(), rows);
  EXPECT_EQ(data.train->class_names()[static_cast<std::size_t>(data.train->label(1))], "7919.5");
}

TEST(CsvDataset, HeldOutRowsHaveTheirShareOfEachClass) {
  std::string text = "x,label\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + (i % 10 == 0 ? ",rare\n" : ",a\n");
  CsvTable train = parsed(text);
  const CsvTable test = split_off_test_rows(train, 0.25);
  EXPECT_EQ(train.rows(), 750U);
  EXPECT_EQ(test.rows(), 250U);
  EXPECT_EQ(std::ranges::count(test.labels.texts, "rare"), 25);
  EXPECT_EQ(test.labels.lines[0], static_cast<std::size_t>(test.cells[0][0].number()) + 2);
  EXPECT_TRUE(train.columns[0].row_id);
  EXPECT_FALSE(test.columns[0].row_id);  // only one warning
  CsvTable one = parsed("x,label\n1,a\n");
  expect_error(Category::data, {"a test fraction of 0.5 of 1 row leaves none to test"},
               [&] { split_off_test_rows(one, 0.5); });
}

}  // namespace
}  // namespace lockstep
