#include "data/files/table_encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/json/json.h"
#include "support/expect_error.h"
#include "support/tables.h"
#include "support/text.h"

namespace lockstep {
namespace {

using Texts = std::vector<std::string>;

TableEncoding fitted(std::string_view text, const CsvOptions& options = {}) {
  return fit_table_encoding(parsed(text, options));
}

TEST(TableEncoding, NumbersAreStandardized) {
  const TableColumn x = fitted(column({"1", "", "4", "4"})).columns.at(0);
  EXPECT_EQ(x, (TableColumn{.name = "x", .mean = 3.0, .deviation = std::sqrt(2.0), .gaps = true}));
  EXPECT_EQ(x.elements(), 2U);
}

/// Covers numbers that differ by less than the rounding error of their sum, or whose squares underflow a
/// double.
TEST(TableEncoding, OnlyEqualNumbersHaveDeviationZero) {
  Texts large, equal(100000, "0.1");
  for (int i = 0; i < 1000; ++i) large.emplace_back(i % 2 == 0 ? "9000000000000000" : "9000000000000002");
  struct Case {
    Texts cells;
    double mean, deviation;
  };
  const std::vector<Case> cases = {{equal, 0.1, 0.0},
                                   {{"10000000000001", "10000000000003"}, 10000000000002.0, 1.0},
                                   {large, 9000000000000001.0, 1.0},
                                   {{"-1e-170", "1e-170"}, 0.0, 1e-170},
                                   {{"1e-310", "2e-310"}, 0.0, 0.0}};  // too small for sums of squares
  for (const auto& [cells, mean, deviation] : cases) {
    const TableEncoding encoding = fitted(column(cells));
    EXPECT_DOUBLE_EQ(encoding.columns.at(0).mean, mean);
    EXPECT_DOUBLE_EQ(encoding.columns.at(0).deviation, deviation) << mean;
    const EncodedTable table = encoded(column({cells[0], cells[1]}), encoding);
    const float element = deviation == 0.0 ? 0.0F : 1.0F;
    EXPECT_FLOAT_EQ(table.codes[0][0], -element) << mean;
    EXPECT_FLOAT_EQ(table.codes[1][0], element) << mean;
  }
}

TEST(TableEncoding, TextsAreSorted) {
  const std::vector<std::pair<Texts, Texts>> cases = {
      {{"red", "blue", "red", " red "}, {"blue", "red"}},
      {{"yes", "NA", "yes"}, {"yes"}},
      {{"0", "3+", "2", "2.0", "-0", "1"}, {"0", "1", "2", "3+"}},
      {{"<1", "1", "2", "2", "2"}, {"1", "2", "<1"}}};
  for (const auto& [cells, texts] : cases) {
    EXPECT_EQ(fitted(column(cells)).columns.at(0).texts, texts) << cells.at(0);
  }
}

/// `count` cells: `start` followed by 1, 2, ...
Texts counted(int count, const std::string& start) {
  Texts cells;
  for (int i = 1; i <= count; ++i) cells.push_back(start + std::to_string(i));
  return cells;
}

TEST(TableEncoding, ColumnsThatCannotBeEncodedAreNamed) {
  EXPECT_EQ(fitted(column(counted(64, "w"))).elements(), 64U);
  const std::string many =
      " has more than 64 different texts ('w1' in line 2, ...): leave it out with "
      "--drop-columns x, or replace the texts by fewer groups";
  Texts mixed = counted(65, "w"), spelled = counted(16, ""), prices = counted(65, "$"),
        one_price = counted(65, "w");
  prices.insert(prices.begin(), "few");
  one_price.insert(one_price.begin(), "$1");
  mixed.insert(mixed.begin() + 1, "1.5");
  spelled.push_back("3+");
  std::string people = "Name,born on,Fare,label\n", dates = "a,b,c,d,e,f,g,h,label\n";
  for (int i = 0; i < 70; ++i) people += fmt::format("n{},1.1.19{},{},a\n", i, i + 10, i);
  for (int i = 0; i < 8; ++i) dates += "12:30,";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {column(counted(65, "w")), "t.csv: column 'x'" + many},
      {column(counted(3000, "w")), "t.csv: column 'x'" + many},
      {column(counted(65, "$")), "leave it out with --drop-columns x, or write numbers like 1234.5"},
      {column(counted(65, "0,"), '\t'), "or write numbers like 1234.5, or separate the cells by semicolons"},
      {column(prices), "('few' in line 2, ...): leave it out with --drop-columns x, or write numbers like"},
      {column(one_price),
       "('$1' in line 2, ...): leave it out with --drop-columns x, or replace the texts by"},
      {column(mixed), "t.csv: column 'x'" + many},
      {column({std::string(2'000'000, 'y')}), "has texts of more than a megabyte: leave it out"},
      {column({"", "NA"}),
       "t.csv: column 'x' has no value in any training row: leave it out with --drop-columns x"},
      {column({"2024-01-31", "", "2024-02-01"}),
       "t.csv: column 'x' has dates or times ('2024-01-31' in line 2): leave it out with --drop-columns x, "
       "or "
       "replace dates by numbers"},
      {column(counted(9, "1.2.201")), "has dates or times ('1.2.2011' in line 2)"},
      {column({"1", "1.5", "1.5z"}), "t.csv: line 4, column 'x': '1.5z' is not a finite number, but"},
      {column({"1", "2", "1e999", "1.5"}), "t.csv: line 4, column 'x': '1e999' is not a finite number"},
      {column(spelled), "t.csv: line 18, column 'x': '3+' is not a finite number"},
      {"x,label\n1.5,a\n\"1,234\",a\n",
       "line 3, column 'x': '1,234' is not a finite number, but the column has numbers: write numbers like "
       "1234.5, leave the cell empty, or leave out"},
      {column({"1.5", "few"}), "'few' is not a finite number, but the column has numbers: correct it, leave"},
      {column({"1e300", "-1e300"}), "column 'x': its numbers are too large"},
      {people,
       "t.csv: column 'Name' has more than 64 different texts ('n0' in line 2, ...), column 'born on' has "
       "dates or times ('1.1.1910' in line 2): leave them out with --drop-columns 'Name,born on', or replace "
       "the texts by fewer groups, or replace dates by numbers"},
      {dates + "x\n",
       "column 'e' has dates or times ('12:30' in line 2), and 3 more columns: leave them out with "
       "--drop-columns a,b,c,d,e,f,g,h, or replace"},
      {"\"date, time\",b,label\n12:30,12:30,a\n",
       "leave them out with --drop-columns '\"date, time\",b', or"},
      {"\"a,,b\",b,label\n12:30,12:30,a\n",
       "rename columns with ',,' in the name, and leave them out with --drop-columns, or replace dates"},
      {"it's $(touch x),label\n12:30,a\n", "leave it out with --drop-columns 'it'\\''s $(touch x)', or"}};
  for (const auto& [text, message] : cases) {
    expect_error(Category::data, {message}, [&text = text] { fitted(text); });
  }
  EXPECT_EQ(fitted(people, {.drop_columns = {"Name", "born on"}}).columns.size(), 1U);
}

TEST(TableEncoding, DatesAndTimes) {
  for (const char* date : {"2024-01-31",
                           "2024/1/31",
                           "2024.01.31",
                           "2024-01",
                           "31.01.2024",
                           "31.1.24",
                           "1/31/2024",
                           "31-01-2024",
                           "2024-01-31 12:30",
                           "2024-01-31T12:30:05Z",
                           "2024-01-31T12:30:05.123+01:00",
                           "12:30",
                           "9:05:01",
                           "11:59 PM",
                           "5 Jan 2024",
                           "5. January 2024",
                           "Jan 5, 2024",
                           "12-Jan-2024",
                           "Jan-24",
                           "SEP 2024"}) {
    EXPECT_TRUE(is_csv_date(date)) << date;
  }
  for (const char* text : {"", "2024", "1-2", "20-29", "1990-1999", "2020/21", "16:9", "1.2.3", "192.168.0.1",
                           "555-12-3456", "may", "Mark 2", "Marble 12", "A-12", "3+", "12:30 noon",
                           "0123456789012345678901234567890123456789 :"}) {
    EXPECT_FALSE(is_csv_date(text)) << text;
  }
}

TEST(TableEncoding, RowsAndTablesAreEncodedAlike) {
  const std::string text = "size;port;n;label\n1,5;b;1;x\n;a;0;x\n-2;;3+;y\n1e3;b;-0;y\n 0 ;NA;1.0;y\n";
  CsvTable table = parsed(text);
  const TableEncoding encoding = fit_table_encoding(table);
  const EncodedTable rows = encode_table(std::move(table), encoding);
  const EncodedTable read = encoded(text, encoding);
  ASSERT_EQ(rows.rows(), 5U);
  EXPECT_EQ(rows.labels.texts, read.labels.texts);
  EXPECT_EQ(rows.labels.lines, read.labels.lines);
  std::vector<float> elements(encoding.elements()), others(encoding.elements());
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    encoding.write_elements(rows.codes[row], elements);
    encoding.write_elements(read.codes[row], others);
    EXPECT_EQ(elements, others) << row;
  }
  // Elements: size, size missing; port a, b, missing; 0, 1, 3+. All but the first are compared.
  EXPECT_EQ(std::vector<float>(others.begin() + 1, others.end()), (std::vector<float>{0, 0, 0, 1, 0, 1, 0}));
}

TEST(TableEncoding, JsonKeepsIt) {
  const TableEncoding encoding = fitted("a,b,\"c\"\"\",label\n0.1,x,1,0\n0.2,\u00fc,,1\n0.4,x,3,1\n");
  const std::string text = json_of(encoding).dump();
  test::expect_holds(text, R"({"name":"b","texts":["x","ü"],"mean":0.0,"deviation":0.0,"gaps":false})");
  const JsonDocument document(text, {.file = "f"});
  TableEncoding read;
  document.read(document.root(), read);
  EXPECT_EQ(read, encoding);
}

/// Tables for prediction have no labels, and may differ in columns, their order and the separator.
TEST(TableEncoding, ReadsTablesWithoutLabels) {
  const TableEncoding encoding = fitted("x,port,label\n1,a,0\n3,b,1\n");
  CsvReader reader("note;port;x\nhello;b;2,5\n;c;\n", "new.csv");
  const EncodedTable table = read_encoded_table(reader, encoding, "");
  ASSERT_EQ(table.rows(), 2U);
  EXPECT_EQ(table.labels.texts, Texts());
  EXPECT_EQ(table.labels.lines, (std::vector<std::size_t>{2, 3}));
  std::vector<float> elements(encoding.elements());
  encoding.write_elements(table.codes[0], elements);
  EXPECT_EQ(elements, (std::vector<float>{0.5F, 0, 1}));
  encoding.write_elements(table.codes[1], elements);
  EXPECT_EQ(elements, (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(table.warnings.size(), 1U);
  const auto data = make_csv_dataset(encoding, table, {.names = {"0", "1"}});
  EXPECT_EQ(data->size(), 2U);
  EXPECT_EQ(data->classes(), 2);
  EXPECT_EQ(data->sample_name(1), "new.csv: line 3");
  CsvReader without("x,por\n1,a\n", "new.csv");
  expect_error(Category::data,
               {"new.csv: line 1: column of the training rows is missing: 'port'; did you mean por?"},
               [&] { read_encoded_table(without, encoding, ""); });
}

TEST(TableEncoding, ColumnsOfTheTrainingRowsMayHaveNumbersAsNames) {
  const TableEncoding encoding = fitted("2019;2020;label\n1,5;2;a\n1;3;b\n");
  CsvReader both("2020;2019\n2;1,5\n", "new.csv"), one("2019;2021\n1,5;2\n", "new.csv");
  EXPECT_EQ(read_encoded_table(both, encoding, "").rows(), 1U);
  expect_error(Category::data, {"new.csv: line 1: column of the training rows is missing: '2020'"},
               [&] { read_encoded_table(one, encoding, ""); });
  CsvReader rows("1,5;2\n1;3\n", "new.csv");
  expect_error(Category::data, {"line 1: '1,5' is a number; the first line must name the columns"},
               [&] { read_encoded_table(rows, encoding, ""); });
}

/// Computing suggestions for all 20,000 names would take minutes.
TEST(TableEncoding, OnlyMissingColumnsThatAreListedHaveSuggestions) {
  TableEncoding encoding;
  std::string header;
  for (int i = 0; i < 20'000; ++i) {
    encoding.columns.push_back({.name = fmt::format("gene_expression_{}", i)});
    header += fmt::format("probe_set_value_{},", i);
  }
  header += "gene_expresion_3\n";
  CsvReader reader(header, "new.csv");
  expect_error(Category::data, {"'gene_expression_3'; did you mean gene_expresion_3?", ", ..."},
               [&] { read_encoded_table(reader, encoding, ""); });
}

TEST(TableEncoding, WarnsOfManyUnknownTextsOnce) {
  const TableEncoding encoding = fitted(column({"a", "b"}));
  const EncodedTable table = encoded(column({"a", "c", "b", "d", "5"}), encoding);
  EXPECT_EQ(table.warnings,
            Texts{"t.csv: 3 cells have texts that no training row has in that column ('c' in line "
                  "3, column 'x', ...): they count as none of its texts"});
}

TEST(TableEncoding, WarnsOfSpellingsThatCountAsOneText) {
  const auto warning = [](const char* spellings) {
    return Texts{
        fmt::format("t.csv: column 'x': the numbers {} count as one text: write them in one way or, "
                    "if they differ, with a letter before each",
                    spellings)};
  };
  const TableEncoding encoding = fitted(column({"007", "B7", "100"}));
  const auto encoded_rows = [](const Texts& cells) {
    CsvTable table = parsed(column(cells));
    const TableEncoding own = fit_table_encoding(table);
    return encode_table(std::move(table), own).warnings;
  };
  const std::vector<std::pair<Texts, Texts>> cases = {
      {{"100", "B7", "1E2", "1e2"}, warning("'100' and '1E2'")},
      {{"007", "B7", "7", "007"}, warning("'007' and '7'")},
      {{"9007199254740992", "B7", "9007199254740993"}, warning("'9007199254740992' and '9007199254740993'")},
      {{"007", "B7", "007", "100"}, {}}};
  for (const auto& [cells, warnings] : cases) EXPECT_EQ(encoded_rows(cells), warnings) << cells[0];
  EXPECT_EQ(encoded(column({"100", "1E2"}), encoding).warnings, warning("'100' and '1E2'"));
  EXPECT_EQ(encoded_rows({"100", "1E2", "7"}), Texts());  // numbers
}

TEST(TableEncoding, WarnsOfNumbersBeyondAFloat) {
  const TableEncoding encoding = fitted(column({"1", "3"}));
  EXPECT_EQ(encoded(column({"2", "1e30"}), encoding).warnings, Texts());
  EXPECT_EQ(encoded(column({"2", "1e300"}), encoding).warnings,
            Texts{"t.csv: a number is too far from the training rows for a float (1e+300 in line 3, column "
                  "'x'): correct it"});
  EXPECT_EQ(encoded(column({"2", "1e300", "-1e300"}), encoding).warnings,
            Texts{"t.csv: 2 numbers are too far from the training rows for a float (1e+300 in line 3, column "
                  "'x', ...): correct them"});
}

TEST(TableEncoding, WarnsOfRowIds) {
  std::string text = "id;x;name;label\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("{};{};n{};a\n", i, i % 3, i);
  CsvTable table = parsed(text);
  const TableEncoding encoding = fit_table_encoding(table);
  const Texts warnings = encode_table(std::move(table), encoding).warnings;
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_TRUE(warnings[0].starts_with("t.csv: column 'id' numbers the rows")) << warnings[0];
  EXPECT_TRUE(warnings[1].ends_with("leave it out with --drop-columns id,name")) << warnings[1];
}

}  // namespace
}  // namespace lockstep
