// Checkpoints on failing disks and crashing machines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/files/folder.h"
#include "run/checkpoint/checkpoint_store.h"
#include "run/checkpoint/small_checkpoint.h"
#include "support/expect_error.h"
#include "support/test_files.h"
#include "support/text.h"

namespace lockstep {
namespace {

constexpr int keep = 2;
constexpr std::int64_t rows = 100;  // a crash can tear files at multiples of 512 bytes

/// Tests on an in-memory disk.
class CheckpointFaults : public testing::Test {
 protected:
  TestFiles disk_;
  const ScopedFiles replaced_{disk_};
};
class CheckpointSpace : public CheckpointFaults {};

/// Step of the checkpoint from which a run continues; 0: none. Checks the checkpoint's contents, and that no
/// other checkpoint looks whole but is damaged.
std::uint64_t step_to_resume_from() {
  for (const auto& path : list_checkpoints("/run/checkpoints")) {
    EXPECT_NO_THROW(read_checkpoint(path)) << path;
  }
  const auto found = newest_good_checkpoint(
      "/run/checkpoints", [](const auto&, const std::string& reason) { ADD_FAILURE() << reason; });
  if (!found) return 0;
  const SmallCheckpoint expected(found->state.step, rows);
  EXPECT_EQ(found->state, expected.contents().state);
  for (const NamedTensor& tensor : expected.contents().model) {
    const auto info = std::ranges::find(found->model.tensors(), tensor.name, &TensorInfo::name);
    if (info == found->model.tensors().end()) {
      ADD_FAILURE() << tensor.name << " is missing";
    } else {
      EXPECT_TRUE(std::ranges::equal(found->model.bytes(*info), tensor.bytes())) << tensor.name;
    }
  }
  return found->state.step;
}

void write(std::uint64_t step, std::uint64_t best_step = 0, int kept = keep) {
  const CheckpointStore store("/run/checkpoints", kept);
  EXPECT_EQ(store.write(SmallCheckpoint(step, rows).contents(), best_step), "");
}

/// Number of crashes before each call: 50, or the value of TEST_CRASHES.
std::uint64_t crashes_per_call() {
  const char* wanted = std::getenv("TEST_CRASHES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 50;
}

TEST_F(CheckpointFaults, ACrashLeavesTheLastCheckpointThatWasWritten) {
  std::uint64_t written = 0;  // step of the last write that returned
  const std::uint64_t crashes = crash_everywhere(
      disk_, crashes_per_call(),
      [&] {
        for (std::uint64_t step = 1; step <= 5; ++step) {
          write(step, 1);
          written = step;
        }
      },
      [&] { EXPECT_GE(step_to_resume_from(), written); });
  EXPECT_GE(crashes, 250 * crashes_per_call());
  EXPECT_EQ(written, 5U);
}

/// The second run finds what the first one's crash left, and crashes too.
TEST_F(CheckpointFaults, ACrashAfterACrashLeavesOne) {
  write(1);
  const std::uint64_t crashes_of_second = std::max<std::uint64_t>(1, crashes_per_call() / 10);
  std::uint64_t crashes = 0;
  disk_.fail([&](const FileCall& call) {
    if (call.number % 7 != 0) return 0;
    const auto second = disk_.crash(call.number);
    std::uint64_t written = 1;
    crashes += crash_everywhere(
        *second, crashes_of_second,
        [&] {
          write(2);
          written = 2;
        },
        [&] { EXPECT_GE(step_to_resume_from(), written); });
    return 0;
  });
  write(2);
  EXPECT_GE(crashes, 200 * crashes_of_second);
}

/// A run resumed from step 1 replaces the checkpoint of step 2, or first sets it aside.
TEST_F(CheckpointFaults, ACrashWhileACheckpointIsReplacedOrSetAsideLeavesOne) {
  write(1);
  write(2);
  crash_everywhere(
      disk_, 2 * crashes_per_call(), [] { write(2); }, [] { EXPECT_EQ(step_to_resume_from(), 2U); });
  crash_everywhere(
      disk_, 2 * crashes_per_call(), [] { CheckpointStore("/run/checkpoints", keep).set_aside_after(1); },
      [] { EXPECT_GE(step_to_resume_from(), 1U); });
}

void write_two(TestFiles& /*disk*/) {
  write(1);
  write(2);
}

TEST_F(CheckpointFaults, ACallThatFailsWhileLaterOnesAreSetAsideIsReported) {
  CheckpointStore::SetAside result;
  fail_everywhere(
      EIO, write_two, [&] { result = CheckpointStore("/run/checkpoints", keep).set_aside_after(1); },
      [&](TestFiles&, const std::string&, const std::string&) {
        EXPECT_TRUE(test::holds(result.failure, "Input/output error") || result.checkpoints == 1)
            << result.failure;
        EXPECT_EQ(list_folder("/run/checkpoints").size(), 2U);
        EXPECT_GE(step_to_resume_from(), 1U);
      });
}

/// Writes checkpoint 3, with a fault, on a copy of the disk `before`, which has checkpoints 1 and 2. Checks
/// that a run can continue, even if the fault persists and the machine crashes. Returns the number of calls.
std::uint64_t write_with_fault(const TestFiles& before, const TestFiles::ErrorOf& fault,
                               const std::string& reason) {
  const std::unique_ptr<TestFiles> copy = before.crash(1);  // nothing is lost
  TestFiles& disk = *copy;
  const ScopedFiles replaced(disk);
  disk.fail(fault);
  std::uint64_t written = 2;
  try {
    const std::string warning =
        CheckpointStore("/run/checkpoints", keep).write(SmallCheckpoint(3, rows).contents(), 0);
    written = 3;
    EXPECT_TRUE(warning.empty() || test::holds(warning, reason)) << warning;
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::resource) << error.what();
    test::expect_holds(error.what(), "/run/checkpoints");
    test::expect_holds(error.what(), reason);
  }
  const std::uint64_t calls = disk.calls();
  disk.fail();
  for (std::uint64_t choice = 0; choice < std::min<std::uint64_t>(4, crashes_per_call()); ++choice) {
    const auto after = disk.crash(choice);
    const ScopedFiles crashed(*after);
    EXPECT_GE(step_to_resume_from(), written) << "after a crash with choice " << choice;
  }
  EXPECT_GE(step_to_resume_from(), written);
  write(4);  // after the disk has recovered
  EXPECT_EQ(step_to_resume_from(), 4U);
  EXPECT_EQ(list_folder("/run/checkpoints").size(), static_cast<std::size_t>(keep)) << "leftovers";
  return calls;
}

TEST_F(CheckpointFaults, ACallThatFailsLeavesTheEarlierCheckpoint) {
  write_two(disk_);
  EXPECT_EQ(disk_.unsynced(), 0U);
  const std::uint64_t calls = write_with_fault(disk_, fail_call(~std::uint64_t{0}, EIO), "");
  EXPECT_GT(calls, 50U);
  for (std::uint64_t number = 1; number <= calls; ++number) {
    SCOPED_TRACE(fmt::format("call {}", number));
    write_with_fault(disk_, fail_call(number, EIO), "Input/output error");
    write_with_fault(disk_, fail_call(number, ENOSPC), "No space left on device");
    write_with_fault(disk_, fail_call(number, EIO, true), "Input/output error");
  }
}

TEST_F(CheckpointFaults, AFullDiskLeavesTheEarlierCheckpoint) {
  std::uint64_t full = 0;
  for (std::uint64_t room = 0; room < 5000; room += 61) {
    SCOPED_TRACE(fmt::format("room for {} bytes", room));
    TestFiles disk;
    const ScopedFiles replaced(disk);
    write(1);
    disk.limit(disk.used() + room);
    try {
      write(2);
      EXPECT_EQ(step_to_resume_from(), 2U);
    } catch (const Error& error) {
      ++full;
      test::expect_holds(error.what(), "cannot write: No space left on device");
      EXPECT_EQ(list_folder("/run/checkpoints").size(), 1U) << "leftovers";
      EXPECT_EQ(step_to_resume_from(), 1U);
    }
  }
  EXPECT_GT(full, 10U);
  EXPECT_LT(full, 80U);
}

void expect_steps(std::initializer_list<std::uint64_t> steps) {
  std::vector<std::string> names;
  for (const std::uint64_t step : steps) names.push_back(checkpoint_name(step));
  EXPECT_EQ(list_folder("/run/checkpoints"), names);
}

/// Only as many checkpoints as needed are removed, and never the newest good one or that of the best epoch.
TEST_F(CheckpointFaults, OnAFullDiskTheOldestMakeWay) {
  for (const std::uint64_t step : {1, 2, 3, 4}) write(step, 2, 4);
  disk_.limit(disk_.used() + 100);
  write(5, 2, 4);
  expect_steps({2, 3, 4, 5});
  disk_.put("/run/checkpoints/step-00000005/state.json", "damaged");
  disk_.limit(disk_.used() + 100);
  write(6, 2, 4);
  expect_steps({2, 4, 5, 6});
  const std::string file = "/run/checkpoints/step-00000006/optimizer.safetensors";
  std::string flipped = disk_.contents(file);
  flipped.back() ^= 1;
  disk_.put(file, flipped);
  expect_error(Category::resource, {"No space left on device"}, [] { write(7, 2, 4); });
  expect_steps({2, 4, 5, 6});
  write(7, 0, 4);
  expect_steps({4, 5, 6, 7});
}

TEST_F(CheckpointFaults, OnAFullDiskOneOfSeveralMebibytesMakesWay) {
  const CheckpointStore store("/run/checkpoints", 4);
  for (const std::uint64_t step : {1, 2, 3}) {
    if (step == 3) disk_.limit(disk_.used() + 100);
    EXPECT_EQ(store.write(SmallCheckpoint(step, 100000).contents(), 0), "");
  }
  expect_steps({2, 3});
}

/// The newest checkpoint, and one that a rollback needs, stay even if removing the others does not free
/// enough.
TEST_F(CheckpointFaults, OnADiskThatStaysFullTheNewestAndTheNeededStay) {
  const CheckpointStore store("/run/checkpoints", 9);
  const auto add = [&](std::uint64_t step) {
    EXPECT_EQ(store.write(SmallCheckpoint(step, rows).contents(), step,
                          [](std::uint64_t its_step) { return its_step % 3 == 0; }),
              "");
  };
  const auto expect_full = [&](std::uint64_t step) {
    disk_.limit(0);
    expect_error(Category::resource, {"No space left on device"}, [&] { add(step); });
    disk_.limit(~std::uint64_t{0});
  };
  for (const std::uint64_t step : {1, 2, 3, 4, 5}) add(step);
  disk_.fail([](const FileCall& call) {
    if (call.path == "/run/checkpoints/step-00000005/model.safetensors") throw std::bad_alloc();
    return 0;
  });
  expect_full(6);
  expect_steps({1, 2, 3, 4, 5});
  disk_.fail();
  expect_full(6);
  expect_steps({3, 5});
  EXPECT_EQ(step_to_resume_from(), 5U);
  add(6);
  expect_full(7);
  expect_steps({6});
}

TEST_F(CheckpointFaults, ADiskThatReturnsOtherBytesIsFoundWhileTheEarlierOneIsThere) {
  write(1);
  disk_.flip_bits(true);
  expect_error(Category::resource, {"the disk returns other bytes than were written"}, [] { write(2); });
  disk_.flip_bits(false);
  EXPECT_EQ(step_to_resume_from(), 1U);
}

/// The newest checkpoint may be good, and continuing from an earlier one would lose steps.
TEST_F(CheckpointFaults, FailingReadsAreErrorsAndNoReasonToTakeAnEarlierOne) {
  for (const int reason : {EIO, EACCES, EPERM}) {
    int errors = 0;
    fail_everywhere(
        reason, write_two,
        [] {
          const auto found = newest_good_checkpoint(
              "/run/checkpoints", [](const auto&, const std::string& why) { ADD_FAILURE() << why; });
          ASSERT_TRUE(found);
          EXPECT_EQ(found->state.step, 2U);
        },
        [&](TestFiles&, const std::string&, const std::string& error) {
          if (error.empty()) return;
          ++errors;
          EXPECT_EQ(error.ends_with("; give this user permission to read it"), reason != EIO) << error;
        });
    EXPECT_GT(errors, 10);
  }
}

TEST_F(CheckpointSpace, OfTwoCheckpointsIsWanted) {
  disk_.limit(5000000);
  check_checkpoint_space("/run/checkpoints", 2500000);
  expect_error(Category::resource,
               {"/run/checkpoints: ", "two checkpoints of 3 MB", "5 MB are free", "run-dir none"},
               [] { check_checkpoint_space("/run/checkpoints", 2500001); });
}

/// Each checkpoint has 3600 bytes of values, and fewer bytes of other data.
TEST_F(CheckpointSpace, CheckpointsOfTheRunThatMayBeReplacedCountAsRoom) {
  write_two(disk_);
  disk_.limit(disk_.used());
  check_checkpoint_space("/run/checkpoints", 3600, 2);
  const auto expect_no_room = [](std::uint64_t step, std::uint64_t best_step) {
    expect_error(Category::resource, {"/run/checkpoints: no room for two checkpoints"},
                 [&] { check_checkpoint_space("/run/checkpoints", 3600, step, best_step); });
  };
  expect_no_room(0, 0);
  expect_no_room(1, 0);
  expect_no_room(2, 1);
}

}  // namespace
}  // namespace lockstep
