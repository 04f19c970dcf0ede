// The record of launcher/gpu-check.sh.
#include "record/record.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lockstep/error.h"
#include "support/temporary_folder.h"

namespace lockstep::check {
namespace {

constexpr const char* targets =
    "# comment\nlenet_us|<= 60|us/step|LeNet, a step\naccuracy|>= 0.9||accuracy\n";

TEST(Record, ListsTargetsInTheirOrderWhetherMeasuredOrNot) {
  Record record;
  record.set_figure("accuracy", "0.89");
  record.begin("2026-01-01T00:00:00Z", targets);
  const auto& found = record.json()["targets"];
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["name"], "lenet_us");
  EXPECT_TRUE(found[0]["met"].is_null());
  EXPECT_EQ(found[1]["met"], false) << "figures of an earlier call count";
  record.set_figure("lenet_us", "60", "us/step");
  EXPECT_EQ(record.json()["targets"][0]["value"], 60.0);
  EXPECT_EQ(record.json()["targets"][0]["met"], true);
}

TEST(Record, HasTheLastValueOfAFigure) {
  Record record;
  record.set_figure("a", "3");
  record.set_figure("a", "4.5", "s");
  EXPECT_EQ(record.json()["figures"].size(), 1U);
  EXPECT_EQ(record.find("a"), "4.5");
}

TEST(Record, QuotientsNeedBothFigures) {
  Record record;
  record.set_figure("a", "3");
  record.set_figure("zero", "0");
  record.set_quotient("q", "a", "b");
  record.set_quotient("q", "a", "zero");
  EXPECT_FALSE(record.find("q"));
  record.set_figure("b", "2");
  record.set_quotient("q", "a", "b");
  EXPECT_EQ(record.find("q"), "1.5");
}

TEST(Record, AStageIsUnfinishedUntilItEnds) {
  Record record;
  record.begin_stage("tests");
  record.begin_stage("digests");
  record.add_case("2 ranks", "failed", "1.5", "other digest");
  EXPECT_EQ(record.json()["stages"][1]["result"], "unfinished");
  record.end_stage("failed", "2", "a case failed");
  record.begin_stage("tests");  // again, in a later call
  const auto& stages = record.json()["stages"];
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0]["cases"][0]["reason"], "other digest");
  EXPECT_EQ(stages[0]["result"], "failed");
  EXPECT_EQ(stages[1]["name"], "tests");
}

TEST(Record, RefusesWhatIsNoNumberNoResultAndNoLimit) {
  Record record;
  record.begin_stage("tests");
  for (const char* value : {"", "-", "12x", "nan", "inf"}) {
    EXPECT_THROW(record.set_figure("a", value), Error) << value;
  }
  EXPECT_THROW(record.end_stage("good", "1", ""), Error);
  EXPECT_THROW(record.begin("now", "name|60|us|text\n"), Error);
  EXPECT_THROW(record.begin("now", "name|<= 60\n"), Error);
}

TEST(Record, RemovesAFactWithoutValue) {
  Record record;
  record.set_fact("gpu", "H200");
  EXPECT_EQ(record.find("gpu"), "H200");
  record.set_fact("gpu", "");
  EXPECT_FALSE(record.find("gpu"));
}

TEST(Record, IsReadBackFromItsFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(Record::read(folder / "none").json(), Record().json());
  Record record;
  record.begin("2026-01-01T00:00:00Z", targets);
  record.set_fact("gpu", "a \"b\" | c");
  replace_file(folder / "record.json", record.json().dump());
  EXPECT_EQ(Record::read(folder / "record.json").json(), record.json());
  for (const char* text : {"", "{\"calls\": [", "[]", "{\"calls\": 3}"}) {
    replace_file(folder / "record.json", text);
    EXPECT_THROW(Record::read(folder / "record.json"), Error) << text;
  }
}

TEST(Record, PageShowsTargetsStagesAndCases) {
  Record record;
  record.set_fact("host", "node1");
  record.begin("2026-01-01T00:00:00Z", targets);
  record.begin_stage("smoke");
  record.add_case("lenet | bf16", "failed", "1", "two\nlines");
  record.set_figure("accuracy", "0.91");
  const std::string page = page_of(record);
  for (const char* line :
       {"# gpu-check on node1\n", "| LeNet, a step | <= 60 us/step |  | not measured |\n",
        "| accuracy | >= 0.9  | 0.91 | yes |\n", "| smoke | **unfinished** |",
        "| smoke | lenet \\| bf16 | **failed** | 1.0 | two lines |\n", "| accuracy | 0.91 |  |\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << "\nis not in\n" << page;
  }
}

TEST(ReplaceFile, SaysWhereItCannotWrite) {
  try {
    replace_file("/nowhere/record.json", "");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::resource);
    EXPECT_NE(std::string(error.what()).find("/nowhere/record.json"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::check
