// Checkpoints on disks that fail, and on machines that crash.
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
constexpr std::int64_t rows = 100;  // a crash tears files at 512 bytes

/// Step of the checkpoint from which a run continues; 0: none. Checks its contents, and that no other one
/// looks whole and is damaged.
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

void write(std::uint64_t step, std::uint64_t best_step = 0) {
  const CheckpointStore store("/run/checkpoints", keep);
  EXPECT_EQ(store.write(SmallCheckpoint(step, rows).contents(), best_step), "");
}

/// Crashes before each call: 50, or as many as TEST_CRASHES says.
std::uint64_t crashes_per_call() {
  const char* wanted = std::getenv("TEST_CRASHES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 50;
}

TEST(CheckpointFaults, ACrashLeavesTheLastCheckpointThatWasWritten) {
  TestFiles disk;
  std::uint64_t written = 0;  // step of the last write that returned
  const std::uint64_t crashes = crash_everywhere(
      disk, crashes_per_call(),
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

/// The second run finds what the crash left of the first one, and crashes too.
TEST(CheckpointFaults, ACrashAfterACrashLeavesOne) {
  TestFiles first;
  const ScopedFiles replaced(first);
  write(1);
  const std::uint64_t crashes_of_second = std::max<std::uint64_t>(1, crashes_per_call() / 10);
  std::uint64_t crashes = 0;
  first.fail([&](const FileCall& call) {
    if (call.number % 7 != 0) return 0;
    const auto second = first.crash(call.number);
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

/// A run that continues from step 1 writes step 2 again, or sets it aside before.
TEST(CheckpointFaults, ACrashWhileACheckpointIsReplacedOrSetAsideLeavesOne) {
  TestFiles disk;
  const ScopedFiles replaced(disk);
  write(1);
  write(2);
  crash_everywhere(
      disk, 2 * crashes_per_call(), [] { write(2); }, [] { EXPECT_EQ(step_to_resume_from(), 2U); });
  crash_everywhere(
      disk, 2 * crashes_per_call(), [] { CheckpointStore("/run/checkpoints", keep).set_aside_after(1); },
      [] { EXPECT_GE(step_to_resume_from(), 1U); });
}

TEST(CheckpointFaults, ACallThatFailsWhileLaterOnesAreSetAsideIsReported) {
  std::uint64_t calls = 1;
  for (std::uint64_t number = 0; number <= calls; ++number) {
    SCOPED_TRACE(fmt::format("call {}", number));
    TestFiles disk;
    const ScopedFiles replaced(disk);
    for (const std::uint64_t step : {1, 2}) write(step);
    disk.fail(fail_call(number, EIO));
    const auto result = CheckpointStore("/run/checkpoints", keep).set_aside_after(1);
    calls = std::max(calls, disk.calls());
    disk.fail();
    EXPECT_TRUE(number == 0 ? result.failure.empty()
                            : test::holds(result.failure, "Input/output error") || result.checkpoints == 1)
        << result.failure;
    EXPECT_EQ(list_folder("/run/checkpoints").size(), 2U);
    EXPECT_GE(step_to_resume_from(), 1U);
  }
  EXPECT_GT(calls, 3U);
}

/// Writes checkpoint 3, with a fault, on a copy of the disk `before`, which has checkpoints 1 and 2. Checks
/// that a run can continue, also when the fault stays and the machine crashes. Returns the number of calls.
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
  write(4);  // once the disk works again
  EXPECT_EQ(step_to_resume_from(), 4U);
  EXPECT_EQ(list_folder("/run/checkpoints").size(), static_cast<std::size_t>(keep)) << "leftovers";
  return calls;
}

TEST(CheckpointFaults, ACallThatFailsLeavesTheEarlierCheckpoint) {
  TestFiles before;
  {
    const ScopedFiles replaced(before);
    write(1);
    write(2);
  }
  EXPECT_EQ(before.unsynced(), 0U);
  const std::uint64_t calls = write_with_fault(before, fail_call(~std::uint64_t{0}, EIO), "");
  EXPECT_GT(calls, 50U);
  for (std::uint64_t number = 1; number <= calls; ++number) {
    SCOPED_TRACE(fmt::format("call {}", number));
    write_with_fault(before, fail_call(number, EIO), "Input/output error");
    write_with_fault(before, fail_call(number, ENOSPC), "No space left on device");
    write_with_fault(before, fail_call(number, EIO, true), "Input/output error");
  }
}

TEST(CheckpointFaults, AFullDiskLeavesTheEarlierCheckpoint) {
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

/// They make room, but for the newest good one and that of the best epoch, and no more than it takes.
TEST(CheckpointFaults, OnAFullDiskTheOldestMakeWay) {
  TestFiles disk;
  const ScopedFiles replaced(disk);
  const CheckpointStore store("/run/checkpoints", 4);
  const auto add = [&](std::uint64_t step, std::uint64_t best_step) {
    EXPECT_EQ(store.write(SmallCheckpoint(step, rows).contents(), best_step), "");
  };
  for (const std::uint64_t step : {1, 2, 3, 4}) add(step, 2);
  disk.limit(disk.used() + 100);
  add(5, 2);
  expect_steps({2, 3, 4, 5});
  disk.put("/run/checkpoints/step-00000005/state.json", "damaged");
  disk.limit(disk.used() + 100);
  add(6, 2);
  expect_steps({2, 4, 5, 6});
  const std::string file = "/run/checkpoints/step-00000006/optimizer.safetensors";
  std::string flipped = disk.contents(file);
  flipped.back() ^= 1;
  disk.put(file, flipped);
  expect_error(Category::resource, {"No space left on device"}, [&] { add(7, 2); });
  expect_steps({2, 4, 5, 6});
  add(7, 0);
  expect_steps({4, 5, 6, 7});
}

TEST(CheckpointFaults, OnAFullDiskOneOfSeveralMebibytesMakesWay) {
  TestFiles disk;
  const ScopedFiles replaced(disk);
  const CheckpointStore store("/run/checkpoints", 4);
  for (const std::uint64_t step : {1, 2, 3}) {
    if (step == 3) disk.limit(disk.used() + 100);
    EXPECT_EQ(store.write(SmallCheckpoint(step, 100000).contents(), 0), "");
  }
  expect_steps({2, 3});
}

/// Even if all that may make way is not enough, the newest one stays, and one that a rollback needs.
TEST(CheckpointFaults, OnADiskThatStaysFullTheNewestAndTheNeededStay) {
  TestFiles disk;
  const ScopedFiles replaced(disk);
  const CheckpointStore store("/run/checkpoints", 9);
  const auto add = [&](std::uint64_t step) {
    EXPECT_EQ(store.write(SmallCheckpoint(step, rows).contents(), step,
                          [](std::uint64_t its_step) { return its_step % 3 == 0; }),
              "");
  };
  const auto expect_full = [&](std::uint64_t step) {
    disk.limit(0);
    expect_error(Category::resource, {"No space left on device"}, [&] { add(step); });
    disk.limit(~std::uint64_t{0});
  };
  for (const std::uint64_t step : {1, 2, 3, 4, 5}) add(step);
  disk.fail([](const FileCall& call) {
    if (call.path == "/run/checkpoints/step-00000005/model.safetensors") throw std::bad_alloc();
    return 0;
  });
  expect_full(6);
  expect_steps({1, 2, 3, 4, 5});
  disk.fail();
  expect_full(6);
  expect_steps({3, 5});
  EXPECT_EQ(step_to_resume_from(), 5U);
  add(6);
  expect_full(7);
  expect_steps({6});
}

TEST(CheckpointFaults, ADiskThatReturnsOtherBytesIsFoundWhileTheEarlierOneIsThere) {
  TestFiles disk;
  const ScopedFiles replaced(disk);
  write(1);
  disk.flip_bits(true);
  expect_error(Category::resource, {"the disk returns other bytes than were written"}, [] { write(2); });
  disk.flip_bits(false);
  EXPECT_EQ(step_to_resume_from(), 1U);
}

/// Lets calls that read a checkpoint fail with `reason`, one after another. The newest one may be good, and
/// an earlier one would lose steps.
void expect_errors_of_reads(int reason, const std::string& text) {
  SCOPED_TRACE(text);
  TestFiles disk;
  const ScopedFiles replaced(disk);
  write(1);
  write(2);
  std::uint64_t calls = 30, errors = 0;
  for (std::uint64_t number = 1; number <= calls; ++number) {
    SCOPED_TRACE(fmt::format("call {}", number));
    disk.fail(fail_call(number, reason));
    try {
      const auto found = newest_good_checkpoint(
          "/run/checkpoints", [&](const auto&, const std::string& why) { ADD_FAILURE() << why; });
      ASSERT_TRUE(found);
      EXPECT_EQ(found->state.step, 2U);
    } catch (const Error& error) {
      ++errors;
      EXPECT_EQ(error.category(), Category::resource) << error.what();
      test::expect_holds(error.what(), text);
    }
    calls = std::max(calls, disk.calls());
  }
  EXPECT_GT(errors, 10U);
}

TEST(CheckpointFaults, FailingReadsAreErrorsAndNoReasonToTakeAnEarlierOne) {
  expect_errors_of_reads(EIO, "Input/output error");
  expect_errors_of_reads(EACCES, "Permission denied; give this user permission to read it");
  expect_errors_of_reads(EPERM, "Operation not permitted; give this user permission to read it");
}

TEST(CheckpointSpace, OfTwoCheckpointsIsWanted) {
  TestFiles disk;
  const ScopedFiles scope(disk);
  disk.limit(5000000);
  check_checkpoint_space("/run/checkpoints", 2500000);
  expect_error(Category::resource,
               {"/run/checkpoints: ", "two checkpoints of 3 MB", "5 MB are free", "run-dir none"},
               [] { check_checkpoint_space("/run/checkpoints", 2500001); });
}

/// Each has 3600 bytes of values, and less than as much beside them.
TEST(CheckpointSpace, CheckpointsOfTheRunThatMayBeReplacedCountAsRoom) {
  TestFiles disk;
  const ScopedFiles scope(disk);
  for (const std::uint64_t step : {1, 2}) write(step);
  disk.limit(disk.used());
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
