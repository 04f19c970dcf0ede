#include "run/run_folder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/files/atomic_file.h"
#include "run/environment.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

TEST(RunFolder, ANewRunNeedsAnUnusedOne) {
  const TemporaryFolder folder;
  const RunFolder record(folder / "a"), checkpoints(folder / "b"), both(folder / "c");
  folder.write("a/metrics.jsonl", "");
  folder.write("b/checkpoints/step-00000001/MANIFEST", "");
  folder.write("c/metrics.jsonl", "");
  folder.write("c/checkpoints/step-00000001/MANIFEST", "");
  for (const auto& [run, reason] :
       {std::pair(&record, "already holds a run (metrics.jsonl); it has no checkpoint yet: begin it again"),
        std::pair(&checkpoints, "already holds checkpoints"),
        std::pair(&both, "already holds a run (metrics.jsonl); continue it with --resume ")}) {
    expect_error(Category::usage, {run->path().string(), reason, "choose another directory"},
                 [&, run = run] { run->create("", ""); });
    EXPECT_FALSE(std::filesystem::exists(run->options()));
  }
  record.create("", "", true);
  EXPECT_NO_THROW(record.check_unused(true));
  folder.write("a/checkpoints/final.safetensors", "");  // of a run that has ended
  expect_error(Category::usage, {"already holds a run"}, [&] { record.check_unused(true); });
  std::filesystem::remove(record.final_model());
  record.remove_record();
  EXPECT_NO_THROW(record.check_unused());
  both.remove_record();  // it has checkpoints
  expect_error(Category::usage, {"already holds a run"}, [&] { both.check_unused(true); });
}

TEST(RunFolder, RefusesPlacesOfFilesThatComeLast) {
  for (const char* name : {"report.html", "checkpoints/final.safetensors", "checkpoints/best.safetensors"}) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / name);
    expect_error(Category::resource, {std::string(name) + ": is a folder"},
                 [&] { RunFolder(folder.path()).create("", ""); });
  }
}

TEST(RunFolder, TheNextStartRemovesWhatKilledWritersLeft) {
  const TemporaryFolder folder;
  const RunFolder run(folder.path());
  run.create("", "");
  AtomicFile living(run.best());
  for (const std::string& path : {folder.path().string(), folder.path().string() + "/"}) {
    for (const char* name : {"metrics.jsonl.0123abcd.tmp", "not-finite-step-00000001.json.0123abcd.tmp",
                             "notes.0123abcd.tmp", "checkpoints/best.safetensors.0123abcd.tmp"}) {
      folder.write(name, "part of a file");
    }
    RunFolder(path).create("", "", true);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"checkpoints", "environment.json",
                                                        "notes.0123abcd.tmp", "options.cfg"}))
        << path;
  }
  living.commit();
  EXPECT_TRUE(std::filesystem::exists(run.best()));
}

TEST(RunFolder, SaysWhetherItWasMovedOrRemoved) {
  const TemporaryFolder folder;
  RunFolder moved(folder / "a"), removed(folder / "b");
  for (RunFolder* const run : {&moved, &removed}) {
    run->create("", "");
    run->lock("this process", 0.0);
    run->check_place();
  }
  std::filesystem::rename(moved.path(), folder / "c");
  std::filesystem::remove_all(removed.path());
  expect_error(Category::resource,
               {"a: the run directory was moved or replaced", "resume from its new place"},
               [&] { moved.check_place(); });
  expect_error(Category::resource, {"b: the run directory was removed during the run", "begin it again"},
               [&] { removed.check_place(); });
}

TEST(RunFolder, KnowsTheNamesOfItsFiles) {
  const RunFolder run("r");
  for (const char* name :
       {"options.cfg", "not-finite-step-00000012.json", "watchdog-4711.json", "checkpoints/best.safetensors",
        "checkpoints/step-00000001", "checkpoints/step-00000001/MANIFEST",
        "checkpoints/step-00000001.0123abcd.aside/state.json"}) {
    EXPECT_TRUE(run.knows(run.path() / name)) << name;
  }
  EXPECT_TRUE(run.knows(run.not_finite(123456789)));
  for (const char* name : {"notes.txt", "not-finite-step-.json", "not-finite-step-x.json", "watchdog-1",
                           "best.safetensors", "checkpoints/MANIFEST", "checkpoints/step-1",
                           "checkpoints/step-00000001/other", "a/checkpoints/best.safetensors"}) {
    EXPECT_FALSE(run.knows(run.path() / name)) << name;
  }
}

TEST(RunFolder, SurveyFindsRecordAndCheckpoints) {
  const TemporaryFolder folder;
  EXPECT_FALSE(RunFolder(folder / "none").survey().exists);
  const RunFolder run(folder.path());
  EXPECT_TRUE(run.survey().exists);
  EXPECT_FALSE(run.survey().used);
  EXPECT_TRUE(run.survey().checkpoints.empty());
  const auto add = [&](const std::string& name) { folder.write("checkpoints/" + name + "/MANIFEST", ""); };
  for (const char* name : {"step-00000500", "step-00001000", "step-100000000", ".step-200000000.a1b2c3d4.tmp",
                           "step-200000000.a1b2c3d4.tmp", "step-200000000.a1b2c3d4.aside", "step-", "step-x",
                           "other-300000000"}) {
    add(name);
  }
  std::filesystem::create_directories(run.checkpoints() /
                                      "step-400000000");  // a checkpoint that is being removed
  ASSERT_EQ(run.survey().checkpoints.size(), 3U);
  EXPECT_EQ(run.survey().checkpoints.front(), run.checkpoints() / "step-100000000");
  add("step-100000001.a1b2c3d4.old");
  EXPECT_EQ(run.survey().checkpoints.front(), run.checkpoints() / "step-100000001.a1b2c3d4.old");
  folder.write("metrics.jsonl", "");
  EXPECT_TRUE(run.survey().used);
  // A missing permission counts as an error of the machine, not of the data.
  TestFiles files(system_files(), [](const FileCall& call) { return call.name == "stat" ? EACCES : 0; });
  const ScopedFiles replaced(files);
  expect_error(Category::resource, {"cannot access: Permission denied"}, [&] { run.survey(); });
}

TEST(Environment, JsonHoldsEverything) {
  Environment environment = this_environment();
  EXPECT_FALSE(environment.compiler.empty());
  EXPECT_GT(environment.cores, 0);
  EXPECT_GT(environment.memory_bytes, 0U);
  EXPECT_EQ(environment.started.size(), 20U);  // 2024-01-31T12:34:56Z
  environment.hosts = {"a", "b"};
  environment.rank_map = {{.first = 0, .ranks = 4, .host = "a", .device = "2 threads, avx2"}};
  environment.ranks = 4;
  environment.command_line = {"lockstep", "train", "--data-dir", "\xff\"x"};
  environment.more = {{"transport", "messages"}};
  const auto json = nlohmann::json::parse(environment_json(environment));
  for (const char* name :
       {"lockstep", "compiler", "mpi", "image_libraries", "cpu", "simd", "cores", "memory_bytes", "kernel",
        "hosts", "rank_map", "ranks", "threads", "command_line", "started"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
  EXPECT_EQ(json["hosts"][1], "b");
  EXPECT_EQ(json["rank_map"][0]["device"], "2 threads, avx2");
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
  folder.write("runs/m-d-2/checkpoints/step-00000001/MANIFEST", "");
  EXPECT_EQ(latest_run_folder(runs, "m-d"), runs / "m-d-2") << "the newest one with a checkpoint";
}

}  // namespace
}  // namespace lockstep
