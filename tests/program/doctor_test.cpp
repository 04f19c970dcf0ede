// lockstep doctor on this machine. Its findings about GPUs are known if there is none.
#include <gtest/gtest.h>

#include <regex>

#include "device/cuda_probe.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

const std::vector<std::string> made_up = {"--dataset", "synthetic", "--samples", "64"};

Outcome doctor(int ranks, std::vector<std::string> more) {
  more.insert(more.begin(), "doctor");
  more.insert(more.end(), made_up.begin(), made_up.end());
  return lockstep(ranks, more);
}

TEST(Doctor, FindsTheRanksAndComparesTheirDigests) {
  const Outcome outcome = doctor(3, {});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_EQ(line_after(outcome.out, "ranks          "), "3 on 1 host");
  EXPECT_TRUE(std::regex_match(line_after(outcome.out, "self-test      "),
                               std::regex(R"(the same digest on all ranks and on one alone \(\d+\.\d s\))")));
  EXPECT_TRUE(line_after(outcome.out, "result         ").starts_with("all is well"));
  for (const char* name :
       {"MPI", "cores", "instructions", "memory", "lock limit", "/dev/shm", "exchange", "CUDA", "data set"}) {
    line_after(outcome.out, std::string(name) + " ");
  }
}

TEST(Doctor, OneRankWithoutALauncher) {
  const Outcome outcome = doctor(0, {"--device", "cpu"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out.find("CUDA"), std::string::npos) << outcome.out;
}

TEST(Doctor, SaysWhyThereIsNoGpuWhereOneWasAskedFor) {
  const std::string why = cuda::obstacle(cuda::probe(cuda::Detail::needed)).reason;
  if (why.empty()) {
    EXPECT_EQ(doctor(1, {"--device", "cuda"}).status, 0);
    return;
  }
  const Outcome refused = doctor(2, {"--device", "cuda"});
  EXPECT_EQ(refused.status, 4) << refused.out;
  EXPECT_EQ(line_after(refused.out, "CUDA           "), "off: " + why);
  EXPECT_TRUE(
      std::regex_match(refused.err, std::regex("lockstep: error: rank 0 on [^:]*: CUDA: off: [^\n]*\n[^]*")))
      << refused.err;
  EXPECT_EQ(line_after(refused.out, "self-test      "), "skipped: the GPUs cannot be used, see above");
  EXPECT_NE(refused.out.find("data set "), std::string::npos) << "the rest is examined too";
  const Outcome accepted = doctor(1, {});
  EXPECT_EQ(accepted.status, 0) << accepted.err;
  EXPECT_EQ(line_after(accepted.out, "CUDA           "), "off: " + why);
}

TEST(Doctor, MissingDataIsMissing) {
  const Outcome outcome = lockstep(2, {"doctor", "--data-dir", "/nowhere"});
  EXPECT_EQ(outcome.status, 4) << outcome.out;
  EXPECT_NE(line_after(outcome.out, "data set       ").find("/nowhere"), std::string::npos);
  EXPECT_NE(outcome.err.find("lockstep: error: rank 0 on "), std::string::npos) << outcome.err;
}

TEST(Doctor, DoesWithoutTheSelfTest) {
  const Outcome outcome = doctor(0, {"--self-test=false"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("self-test"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::test
