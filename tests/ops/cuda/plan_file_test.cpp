#include "ops/cuda/dnn/plan_file.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep::cuda {
namespace {

class PlanFileTest : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "plans.json";
};

TEST_F(PlanFileTest, KeepsChoicesOfSeveralGpus) {
  PlanFile here(path, "H200, cuDNN 9.19.0");
  here.set("conv", {"eng1", 12.5});
  here.set("norm", {"eng2"});
  here.save();
  PlanFile there(path, "A100, cuDNN 9.19.0");
  EXPECT_EQ(there.find("conv"), std::nullopt);
  there.set("conv", {"eng3"});
  there.save();

  const PlanFile again(path, "H200, cuDNN 9.19.0");
  EXPECT_EQ(again.find("conv"), (EngineChoice{"eng1", 12.5}));
  EXPECT_EQ(again.find("norm"), (EngineChoice{"eng2", 0.0}));
  EXPECT_EQ(again.find("other"), std::nullopt);
  EXPECT_EQ(PlanFile(path, "A100, cuDNN 9.19.0").find("conv"), (EngineChoice{"eng3", 0.0}));
}

TEST_F(PlanFileTest, ReplacesAChoice) {
  PlanFile file(path, "GPU");
  file.set("conv", {"eng1"});
  file.set("conv", {"eng2", 1.0});
  file.save();
  EXPECT_EQ(PlanFile(path, "GPU").find("conv"), (EngineChoice{"eng2", 1.0}));
}

TEST_F(PlanFileTest, AddsTheChoicesOfAnotherFile) {
  PlanFile other(path, "GPU"), file("", "GPU");
  other.set("conv", {"eng1", 12.5});
  file.set("conv", {"eng2"});
  file.set("norm", {"eng3"});
  file.add(other.text());
  EXPECT_EQ(file.find("conv"), (EngineChoice{"eng1", 12.5}));
  EXPECT_EQ(file.find("norm"), (EngineChoice{"eng3"}));
}

TEST_F(PlanFileTest, IsEmptyWhereThereIsNoFile) {
  EXPECT_EQ(PlanFile(path, "GPU").find("conv"), std::nullopt);
  EXPECT_EQ(PlanFile("", "GPU").find("conv"), std::nullopt);
}

TEST_F(PlanFileTest, NamesFileAndReasonOfADamagedOne) {
  struct Case {
    const char* text;
    const char* reason;
  };
  const Case cases[] = {
      {"", "not JSON"},
      {R"({"format": "lockstep plans 1", "engines": {)", "not JSON"},
      {"[]", "\"format\""},
      {R"({"format": "lockstep plans 2", "engines": {}})", "\"format\""},
      {R"({"format": "lockstep plans 1"})", "\"engines\""},
      {R"({"format": "lockstep plans 1", "engines": []})", "\"engines\""},
      {R"({"format": "lockstep plans 1", "engines": {"GPU": 1}})", "\"GPU\""},
      {R"({"format": "lockstep plans 1", "engines": {"GPU": {"conv": "eng1"}}})", "\"conv\""},
      {R"({"format": "lockstep plans 1", "engines": {"GPU": {"conv": {}}}})", "\"engine\""},
      {R"({"format": "lockstep plans 1", "engines": {"GPU": {"conv": {"engine": 3}}}})", "\"engine\""},
      {R"({"format": "lockstep plans 1", "engines": {"GPU": {"a": {"engine": "e", "microseconds": -1}}}})",
       "\"microseconds\""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    folder.write("plans.json", c.text);
    expect_error(Category::data, {path.string(), c.reason}, [&] { PlanFile(path, "GPU"); });
  }
}

TEST_F(PlanFileTest, SaysWhereItCannotWrite) {
  PlanFile file(folder.path() / "absent" / "plans.json", "GPU");
  file.set("conv", {"eng1"});
  expect_error(Category::resource, {}, [&] { file.save(); });
}

TEST_F(PlanFileTest, DoesNotReadAFileThatIsTooLarge) {
  std::filesystem::resize_file(folder.write("plans.json", " "), std::uintmax_t{1} << 30);
  expect_error(Category::data, {}, [&] { PlanFile(path, "GPU"); });
}

}  // namespace
}  // namespace lockstep::cuda
