#include "data/files/csv.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/sets/csv_dataset.h"
#include "support/expect_error.h"

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
  EXPECT_EQ(records(",\n\n,,\n"), (std::vector<Fields>{{"", ""}, {"", "", ""}}));
  EXPECT_EQ(records(""), std::vector<Fields>{});
}

/// Records of a text that comes byte by byte through a window of `window` bytes.
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
  expect_error(Category::data, {"t.csv: line 2: a quote that is not closed"}, [] { records("a\n\"b"); });
  expect_error(Category::data, {"t.csv: line 1: a quote inside"}, [] { records("a\"b\n"); });
  expect_error(Category::data, {"t.csv: line 1: characters after a closing quote"},
               [] { records("\"a\"b\n"); });
}

CsvTable table(std::string_view text, const std::string& label = "") {
  return parse_csv_table(text, "t.csv", label);
}

/// All numbers of the features, row by row.
std::vector<double> numbers(const CsvTable& of) {
  std::vector<double> all;
  for (std::size_t row = 0; row < of.values.size(); ++row) {
    all.insert(all.end(), of.values[row].begin(), of.values[row].end());
  }
  return all;
}

/// The table has as many classes as rows, as in a column of measurements that is taken for labels. It would
/// take minutes to compare each row with all classes.
TEST(CsvDataset, AnyNumberOfClasses) {
  constexpr int rows = 500000;
  std::string text = "x,y\n";
  for (int row = 0; row < rows; ++row) text += fmt::format("1,{}.5\n", (row * 7919LL) % rows);
  const CsvTable all = table(text);
  const DatasetPair data = make_csv_datasets(all, all);
  EXPECT_EQ(data.train->classes(), rows);
  EXPECT_EQ(data.train->class_names()[static_cast<std::size_t>(data.train->label(1))], "7919.5");
}

TEST(CsvTable, LabelColumn) {
  EXPECT_EQ(table("label,x\nred,1\n").features, Fields{"x"});
  EXPECT_EQ(table("x,y\n1,2\n").label_column, "y");
  const CsvTable chosen = table("x, kind ,y\n1,a,3\n", "kind");
  EXPECT_EQ(chosen.features, (Fields{"x", "y"}));
  EXPECT_EQ(numbers(chosen), (std::vector<double>{1, 3}));
  EXPECT_EQ(chosen.labels, Fields{"a"});
}

TEST(CsvTable, BadRowsNameLineAndColumn) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "t.csv: is empty"},
      {"x,label\n", "t.csv: no rows after the header"},
      {"x,label\n1,a\n2\n", "t.csv: line 3: 1 fields, the header has 2"},
      {"x,label\n1,a,b\n", "t.csv: line 2: 3 fields, the header has 2"},
      {"x,label\none,a\n", "t.csv: line 2, column 'x': 'one' is not a number"},
      {"x,label\n,a\n", "t.csv: line 2, column 'x': '' is not a number"},
      {"x,label\n1.5z,a\n", "t.csv: line 2, column 'x': '1.5z' is not a number"},
      {"x,label\nnan,a\n", "t.csv: line 2, column 'x': 'nan' is not a finite number"},
      {"x,label\n-inf,a\n", "t.csv: line 2, column 'x': '-inf' is not a finite number"},
      {"x,label\n1e999,a\n", "t.csv: line 2, column 'x': '1e999' is not a finite number"},
      {"x,label\n1,\n", "t.csv: line 2, column 'label': no class"},
      {"x,x,label\n1,2,a\n", "t.csv: line 1: two columns are called 'x'"},
      {"5.1,3.5,0\n4.9,3.0,0\n", "t.csv: line 1: '5.1' is a number; the first line must name the columns"},
      {"5.1,3.5,setosa\n4.9,3.0,setosa\n", "t.csv: line 1: '5.1' is a number"},
      {"7,3,0\n4,3,0\n", "t.csv: line 1: '7' is a number"},
      {"x,label\n+-1,a\n", "t.csv: line 2, column 'x': '+-1' is not a number"},
      {"label\na\n", "t.csv: line 1: no column but the classes'"}};
  for (const auto& [text, message] : cases) {
    expect_error(Category::data, {message}, [&text = text] { table(text); });
  }
  expect_error(Category::data, {"t.csv: line 1: unknown label column 'nope'; known: x, label"},
               [] { table("x,label\n1,a\n", "nope"); });
  const std::string large(5'000'000, 'y'), start = "'" + large.substr(0, 100) + "...'";
  expect_error(Category::data, {"t.csv: line 2, column 'x': " + start + " is not a number"},
               [&] { table("x,label\n" + large + ",a\n"); });
  expect_error(Category::data, {"column 'label': class " + start + " is not in the training rows"},
               [&] { make_csv_datasets(table("x,label\n1,a\n2,b\n"), table("x,label\n1," + large + "\n")); });
  expect_error(Category::data, {"unknown label column 'lable'; did you mean 'label'? known: x?y, label"},
               [] { table("\"x\ny\",label\n1,a\n", "lable"); });
}

TEST(CsvTable, NumbersMayHaveASignAndBeTiny) {
  EXPECT_EQ(numbers(table("x,label\n+1.5,a\n1e-400,a\n")), (std::vector<double>{1.5, 0.0}));
  EXPECT_EQ(table("0,1,label\n3,4,a\n").features, (Fields{"0", "1"}));  // names of pixels
}

TEST(CsvTable, ClassesAreSortedAsNumbersOrTexts) {
  EXPECT_EQ(sorted_classes({"10", "9", "10", "-1"}), (Fields{"-1", "9", "10"}));
  EXPECT_EQ(sorted_classes({"10", "9", "b"}), (Fields{"10", "9", "b"}));
}

std::vector<float> row(const Dataset& data, std::uint64_t id) {
  std::vector<std::uint8_t> buffer;
  const auto bytes = data.sample(id, buffer);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(values.data()));
  return values;
}

TEST(CsvDataset, StandardizedByTheTrainingRows) {
  const CsvTable train = table("x,c,label\n1,0.1,b\n3,0.1,a\n5,0.1,a\n");
  const CsvTable test = table("x,c,label\n3,7,b\n");
  const DatasetPair pair = make_csv_datasets(train, test);
  EXPECT_EQ(pair.train->shape(), (Shape{2, 1, 1}));
  EXPECT_EQ(pair.train->encoding(), Encoding::floats);
  EXPECT_EQ(pair.train->class_names(), (Fields{"a", "b"}));
  EXPECT_EQ(pair.train->label(0), 1);
  EXPECT_EQ(row(*pair.train, 0), (std::vector<float>{static_cast<float>(-2.0 / std::sqrt(8.0 / 3.0)), 0.0F}));
  EXPECT_EQ(row(*pair.test, 0), (std::vector<float>{0.0F, 0.0F}));
}

TEST(CsvDataset, TestTablesThatDoNotFit) {
  const CsvTable train = table("x,label\n1,a\n2,b\n");
  expect_error(Category::data, {"t.csv: line 3, column 'label': class 'c' is not in the training rows"},
               [&] { make_csv_datasets(train, table("x,label\n1,a\n1,c\n")); });
  expect_error(Category::data, {"t.csv: line 1: other columns than in t.csv"},
               [&] { make_csv_datasets(train, table("y,label\n1,a\n")); });
  const CsvTable single = table("x,kind\n1,a\n2,a\n");
  expect_error(Category::data, {"t.csv: column 'kind': only one class, 'a', in all training rows"},
               [&] { make_csv_datasets(single, single); });
  expect_error(Category::data, {"column 'x': its numbers are too large"},
               [&] { make_csv_datasets(table("x,label\n1e300,a\n-1e300,b\n"), train); });
}

TEST(CsvDataset, HeldOutRowsAreThoseOfTheHash) {
  std::string text = "x,label\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + ",a\n";
  CsvTable train = table(text);
  const CsvTable test = split_off_test_rows(train, 0.25);
  EXPECT_EQ(train.rows() + test.rows(), 1000U);
  EXPECT_NEAR(static_cast<double>(test.rows()), 250.0, 50.0);
  EXPECT_EQ(test.lines[0], static_cast<std::size_t>(test.values[0][0]) + 2);
  CsvTable one = table("x,label\n1,a\n");
  expect_error(Category::data, {"leaves none to "}, [&] { split_off_test_rows(one, 0.5); });
}

}  // namespace
}  // namespace lockstep
