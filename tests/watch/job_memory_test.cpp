#include "watch/job_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "run/run_folder.h"
#include "support/temporary_folder.h"
#include "watch/report.h"

namespace lockstep {
namespace {

TEST(JobMemoryTest, RanksOfAJobShareItAndTheLastOneRemovesIt) {
  const std::string job = "test-" + std::to_string(getpid());
  auto first = std::make_unique<JobMemory>(job, "a/b", 2);
  EXPECT_EQ(first->path().filename(), "lockstep-" + job + "-a_b");
  first->rank(1).rank = 7;
  {
    const JobMemory second(job, "a/b", 2);
    EXPECT_EQ(second.rank(1).rank, 7);
    EXPECT_EQ(second.inode(), first->inode());
  }
  EXPECT_TRUE(std::filesystem::exists(first->path()));
  const std::filesystem::path path = first->path();
  first.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(JobMemoryTest, WhatKilledProcessesLeftIsNotUsed) {
  const std::string job = "test-killed-" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    JobMemory memory(job, "a", 1);
    memory.rank(0).rank = 7;
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const JobMemory memory(job, "a", 1);
  EXPECT_EQ(memory.rank(0).rank, 0);
}

/// Without O_NONBLOCK, opening the file would block until the lease ends; the process then removes the file.
TEST(JobMemoryTest, ALeaseOnAFileDelaysNoStart) {
  const std::string path = "/dev/shm/lockstep-test-lease-" + std::to_string(getpid());
  signal(SIGIO, SIG_IGN);  // the kernel sends SIGIO to a lease holder when another process opens the file
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(fcntl(file, F_SETLEASE, F_WRLCK), 0);
  { const JobMemory memory("test-lease-job-" + std::to_string(getpid()), "a", 1); }
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  close(file);
  unlink(path.c_str());
  signal(SIGIO, SIG_DFL);
}

TEST(SegmentFolderTest, IsRemovedByTheLastRankOrAfterAKillByTheNextStart) {
  const std::string job = "test-segments-" + std::to_string(getpid());
  const std::filesystem::path path = "/dev/shm/lockstep-" + job + "-mpi-segments";
  const std::filesystem::path segment = path / "vader_segment.vm.0.53060001.0";
  const auto start_another_job = [&] { const JobMemory memory(job + "-next", "a", 1); };
  {
    const SegmentFolder first(job);
    ASSERT_EQ(first.path(), path);
    std::ofstream(segment) << "x";
    { const SegmentFolder second(job); }
    start_another_job();
    EXPECT_TRUE(std::filesystem::remove(segment));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const pid_t child = fork();
  if (child == 0) {
    const SegmentFolder folder(job);
    std::ofstream(segment) << "x";
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  start_another_job();
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// A user's folder may have the name of a segment folder.
TEST(SegmentFolderTest, OnlySegmentsAreRemoved) {
  const std::filesystem::path path = "/dev/shm/lockstep-" + std::to_string(getpid()) + "-mpi-segments";
  std::filesystem::create_directory(path);
  std::ofstream(path / "image.png") << "x";
  { const JobMemory memory("test-other-" + std::to_string(getpid()), "a", 1); }
  EXPECT_TRUE(std::filesystem::exists(path / "image.png"));
  std::filesystem::remove_all(path);
}

TEST(JobMemoryTest, TheNameOfTheJobComesFromTheLauncher) {
  const auto lookup = [](const char* name) -> const char* {
    return std::string(name) == "LOCKSTEP_JOB"     ? "mine"
           : std::string(name) == "PMIX_NAMESPACE" ? "12"
                                                   : nullptr;
  };
  EXPECT_EQ(read_job(lookup), "mine-12");
}

TEST(FailureReport, WithoutARunDirectoryIsWrittenToTheFolderForTemporaryFiles) {
  const TemporaryFolder temporary, current;
  const std::filesystem::path before = std::filesystem::current_path();
  setenv("TMPDIR", temporary.path().c_str(), 1);
  std::filesystem::current_path(current.path());
  testing::internal::CaptureStderr();
  const JobMemory memory;
  const RankTable table{.ranks = std::vector<RankState>(1), .hosts = {"a"}, .boundaries = {0, 1}};
  const std::string name = "watchdog-" + std::to_string(getpid()) + ".json";
  write_report({.verdict = {{0}, "kind", "sentence"},
                .table = table,
                .limits = {},
                .memory = memory,
                .slots = {0},
                .first = 0},
               {});
  std::filesystem::current_path(before);
  unsetenv("TMPDIR");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "lockstep: state of all ranks: " + (temporary / name).string() + "\n");
  EXPECT_EQ(temporary.names(), std::vector<std::string>{name});
  EXPECT_TRUE(RunFolder(temporary.path()).knows(temporary / name));
  EXPECT_TRUE(current.names().empty());
}

}  // namespace
}  // namespace lockstep
