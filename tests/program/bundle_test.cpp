// Builds the bundle, unpacks it elsewhere and starts it with an empty environment.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/run.h"

namespace lockstep::test {
namespace {

/// The script runs Python, which must not import from the current folder.
TEST(BundleStart, RunsNothingFromTheCurrentFolder) {
  const TemporaryFolder folder;
  std::ofstream(folder / "glob.py") << "open('was-run', 'w')\n";
  const Outcome outcome = run({"sh", "-ec",
                               "cd '" + folder.string() +
                                   "'; eval \"$(sed -n '/^wheel_folders()/,/^}/p' '" LOCKSTEP_SOURCE
                                   "/launcher/bundle/start')\"; wheel_folders"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "was-run"));
}

class Bundle : public testing::Test {
 protected:
  void SetUp() override {
    if (!LOCKSTEP_OPEN_MPI_4) GTEST_SKIP() << "the bundle is made of Open MPI 4";
    // The lock runs one test at a time, because all of them write the same files.
    const Outcome made =
        run({"flock", LOCKSTEP_BUILD "/.bundle.lock", "sh", "-ec",
             "'" LOCKSTEP_CMAKE "' --build '" LOCKSTEP_BUILD "' --target bundle; tar xzf '" LOCKSTEP_BUILD
             "'/lockstep-*64.tar.gz -C \"$1\" --strip-components=1",
             "sh", folder_.string()});
    ASSERT_EQ(made.status, 0) << made.out << made.err;
  }

  /// Starts a program of the bundle with a minimal environment: no other mpirun, no library path.
  Outcome start(const std::string& name, const Words& arguments) const {
    return run(words("env -i PATH=/usr/bin:/bin HOME={} {}", folder_, folder_ / ("bin/" + name)) + arguments);
  }

  const TemporaryFolder folder_;
};

const Words train = words("train --dataset synthetic --samples 300 --epochs 1 --quiet");

TEST_F(Bundle, StartsFromAnyFolderWithNothingElse) {
  const Outcome help = start("lockstep", {"--help"});
  EXPECT_EQ(help.status, 0) << help.err;
  const Outcome alone = start("lockstep", train);
  EXPECT_EQ(alone.status, 0) << alone.err;
  const Outcome launched = start("lockstep-run", words("-np 3") + train);
  EXPECT_EQ(launched.status, 0) << launched.err;
  EXPECT_EQ(launched.out, alone.out);
  // mpirun finds the program of the bundle by its name alone.
  const Outcome bare = start("mpirun", words("--oversubscribe --bind-to none -np 2 lockstep") + train);
  EXPECT_EQ(bare.status, 0) << bare.err;
  EXPECT_EQ(bare.out, alone.out);

  const Outcome doctor = start("lockstep", words("doctor --dataset synthetic"));
  EXPECT_EQ(doctor.status, 0) << doctor.out << doctor.err;
  const std::string output = (folder_ / "check").string();
  const Outcome check = start("gpu-check.sh", words("--only machine,smoke --output {}", output));
  EXPECT_TRUE(check.status == 0 || check.status == 4) << check.out << check.err;
  EXPECT_TRUE(std::filesystem::exists(output + "/gpu-check.json")) << check.out << check.err;
}

TEST_F(Bundle, LoadsItsOwnLibraries) {
  const Outcome loaded =
      run(words("env -i PATH=/usr/bin:/bin LD_DEBUG=libs {} --version", folder_ / "bin/lockstep"));
  EXPECT_EQ(loaded.status, 0);
  for (const char* library : {"libmpi.so.40", "libboost_program_options.so", "libstdc++.so.6"}) {
    expect_holds(loaded.err, "calling init: " + folder_.string() + "/lib/" + library);
  }
}

TEST_F(Bundle, ForeignCudaLibrariesAreFoundByPath) {
  // The script must unset the variable, or lockstep rejects it as an unknown option.
  const Outcome outcome =
      run(words("env -i PATH=/usr/bin:/bin LOCKSTEP_CUDA_LIBRARIES=/nowhere/cuda LD_DEBUG=libs {} inspect "
                "--model lenet --input 1x28x28",
                folder_ / "bin/lockstep"));
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  expect_holds(outcome.err, "/nowhere/cuda");
}

}  // namespace
}  // namespace lockstep::test
