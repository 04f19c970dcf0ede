#include "report/run_directory.h"

#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/files/atomic_file.h"
#include "report/environment.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

TEST(RunDirectory, IsMadeWithItsFiles) {
  const TemporaryFolder folder;
  const RunDirectory directory = create_run_directory(folder.path() / "a" / "b", "lr = 0.1\n", "{}\n");
  EXPECT_TRUE(std::filesystem::is_directory(directory.checkpoints()));
  EXPECT_EQ(contents(directory.options()), "lr = 0.1\n");
  EXPECT_EQ(contents(directory.environment()), "{}\n");
  EXPECT_FALSE(std::filesystem::exists(directory.metrics()));
}

TEST(RunDirectory, RefusesOneThatHoldsARun) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", "");
  expect_error(Category::usage, {folder.path().string(), "already holds a run", "choose another"},
               [&] { create_run_directory(folder.path(), "", ""); });
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "options.cfg"));
}

TEST(RunDirectory, RefusesPlacesOfFilesThatComeLast) {
  for (const char* name : {"report.html", "checkpoints/final.safetensors", "checkpoints/best.safetensors"}) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.path() / name);
    expect_error(Category::resource, {std::string(name) + ": is a folder"},
                 [&] { create_run_directory(folder.path(), "", ""); });
  }
}

TEST(RunDirectory, FailuresNameTheFile) {
  const TemporaryFolder folder;
  const auto file = folder.write("file", "");
  expect_error(Category::resource, {(file / "run").string(), "Not a directory"},
               [&] { create_run_directory(file / "run", "", ""); });
  expect_error(Category::resource, {"/nonexistent/x", "No such file"},
               [] { write_text_file("/nonexistent/x", ""); });
}

TEST(Environment, JsonHoldsEverything) {
  Environment environment = this_environment();
  EXPECT_FALSE(environment.compiler.empty());
  EXPECT_GT(environment.cores, 0);
  EXPECT_GT(environment.memory_bytes, 0U);
  EXPECT_EQ(environment.started.size(), 20U);  // 2024-01-31T12:34:56Z
  environment.hosts = {"a", "b"};
  environment.ranks = 4;
  environment.command_line = {"lockstep", "train", "--data-dir", "\xff\"x"};
  environment.more = {{"transport", "messages"}};
  const auto json = nlohmann::json::parse(environment_json(environment));
  for (const char* name :
       {"lockstep", "compiler", "mpi", "image_libraries", "cpu", "simd", "cores", "memory_bytes", "kernel",
        "hosts", "ranks", "threads", "command_line", "started"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
  EXPECT_EQ(json["hosts"][1], "b");
  EXPECT_EQ(json["ranks"], 4);
  EXPECT_EQ(json["command_line"][1], "train");
  EXPECT_EQ(json["transport"], "messages");
}

TEST(RunFolder, OfANewRunHasTheNumberAfterTheLargest) {
  const TemporaryFolder folder;
  const std::filesystem::path runs = folder / "runs";
  EXPECT_EQ(latest_run_folder(runs, "m-d"), "");
  for (const char* name : {"m-d-1", "m-d-2"}) {
    EXPECT_EQ(new_run_folder(runs, "m-d"), runs / name);
    EXPECT_EQ(latest_run_folder(runs, "m-d"), runs / name);
  }
  EXPECT_EQ(new_run_folder(runs, "m"), runs / "m-1");
  std::filesystem::remove(runs / "m-d-1");
  EXPECT_EQ(new_run_folder(runs, "m-d"), runs / "m-d-3") << "resume auto takes the largest number";
  EXPECT_EQ(latest_run_folder(runs, "m-d"), runs / "m-d-3");
}

}  // namespace
}  // namespace lockstep
