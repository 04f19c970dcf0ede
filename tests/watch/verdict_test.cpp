#include "watch/verdict.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace lockstep {
namespace {

constexpr CollectiveCall gather{
    .kind = Collective::all_gather, .group = Group::world, .number = 1841, .bytes = 64};
constexpr CollectiveCall earlier{.kind = Collective::sum, .group = Group::world, .number = 1840, .bytes = 8};

/// A rank in the backward pass of step 920, whose steps take 0.1 s.
RankState working(double still) {
  RankState state{.known = true, .process_state = 'R', .process = 4711};
  state.now = {.step = 920, .stage = Stage::training, .call = earlier};
  state.phase = Phase::backward;
  state.still = still;
  state.usual_step = 0.1;
  state.cores = 1.0;
  state.calls[state.call_count++] = earlier;
  return state;
}
/// A rank that waits in `call`.
RankState waiting(double seconds, const CollectiveCall& call = gather) {
  RankState state = working(seconds);
  state.waited = seconds;
  state.now.waits = true;
  state.now.call = call;
  state.process_state = 'S';
  state.cores = 0.0;
  if (call != earlier) state.calls[state.call_count++] = call;
  return state;
}
RankState stopped(RankState state) {
  state.process_state = 'T';
  state.stopped = true;
  state.cores = 0.0;
  return state;
}
RankState in_stage(Stage stage, RankState state) {
  state.now.stage = stage;
  return state;
}
RankState ended(int wait_status) {
  RankState state = working(0);
  state.ended = true;
  state.wait_status = wait_status;
  return state;
}
RankState silent(double seconds) {
  RankState state = waiting(0, earlier);
  state.silent = seconds;
  return state;
}

/// Ranks 0 and 1 on host a, 2 and 3 on host b.
RankTable table(std::vector<RankState> ranks) {
  return {.ranks = std::move(ranks), .hosts = {"a", "b"}, .boundaries = {0, 2, 4}};
}
std::string sentence(std::vector<RankState> ranks, const HangLimits& limits = {}) {
  const auto verdict = judge(table(std::move(ranks)), limits);
  return verdict ? verdict->sentence : "";
}

constexpr CollectiveCall barrier{.kind = Collective::barrier, .group = Group::world, .number = 1841};
constexpr CollectiveCall longer{
    .kind = Collective::all_gather, .group = Group::world, .number = 1841, .bytes = 65};
constexpr CollectiveCall within{.kind = Collective::barrier, .group = Group::host, .number = 5000};

/// A rank that announced its end.
RankState announced() {
  RankState state = ended(0);
  state.ends_by_itself = true;
  return state;
}
/// A rank that has not begun yet.
RankState absent() {
  RankState state{.known = true};
  state.still = 300;
  return state;
}
RankState starting() {
  return in_stage(Stage::start,
                  waiting(300, {.kind = Collective::start, .group = Group::world, .number = 1}));
}
RankState asleep(double still) {
  RankState state = working(still);
  state.cores = 0.0;
  state.process_state = 'S';
  return state;
}

/// Kinds of verdicts contain no times, steps or processes.
TEST(Verdict, NamesTheRanksAtFault) {
  struct Row {
    std::vector<RankState> ranks;
    const char* sentence;
    const char* kind = nullptr;
  };
  for (const Row& row : std::vector<Row>{
           // A rank does not arrive at the collective.
           {{waiting(12), waiting(12), working(12), waiting(11)},
            "rank 2 on host b stopped before all_gather 1841 (step 920, backward; process 4711 computes); "
            "ranks 0, 1, 3 wait in it for 12 s",
            "rank 2 on host b stopped before all_gather"},
           {{waiting(12), asleep(12), working(0), working(0)},
            "rank 1 on host a stopped before all_gather 1841 (step 920, backward; process 4711 sleeps); "
            "rank 0 waits in it for 12 s"},
           // The missing rank is stopped.
           {{waiting(12), waiting(12), stopped(working(12)), waiting(12)},
            "rank 2 on host b stopped before all_gather 1841 (step 920, backward; process 4711 is stopped, "
            "as by SIGSTOP); ranks 0, 1, 3 wait in it for 12 s"},
           {{waiting(12), waiting(12), stopped(waiting(12, earlier)), waiting(12)},
            "rank 2 on host b stopped in sum 1840 (step 920, backward; process 4711 is stopped, as by "
            "SIGSTOP); ranks 0, 1, 3 wait in all_gather 1841 for 12 s",
            "rank 2 on host b stopped in sum"},
           // The process of the missing rank has ended.
           {{waiting(0), waiting(0), ended(SIGKILL), waiting(0)},
            "rank 2 on host b (process 4711) was killed by signal 9 (Killed) (step 920, backward)",
            "rank 2 on host b was killed by signal 9"},
           {{ended(3 << 8), waiting(0), waiting(0), ended(-1)},
            "rank 0 on host a (process 4711) has ended with status 3 (step 920, backward); so has rank 3"},
           {{waiting(0), waiting(0), ended(-1), waiting(0)},
            "rank 2 on host b (process 4711) exited for an unknown reason (step 920, backward)",
            "rank 2 on host b exited for an unknown reason"},
           {{announced(), announced(), announced(), announced()}, ""},
           // Ranks are in different collectives.
           {{waiting(0), waiting(0, barrier), waiting(0), waiting(0)},
            "rank 1 on host a entered barrier 1841 (step 920, backward), but ranks 0, 2, 3 entered "
            "all_gather 1841 of 64 bytes",
            "rank 1 on host a entered barrier, but ranks 0, 2, 3 entered all_gather"},
           {{waiting(0, longer), waiting(0, longer), waiting(0), waiting(0)},
            "ranks 2, 3 entered all_gather 1841 of 64 bytes (step 920, backward), but ranks 0, 1 entered "
            "all_gather 1841 of 65 bytes"},
           // A host is silent.
           {{waiting(12), waiting(12), silent(11.5), silent(11.5)}, ""},
           {{waiting(12), waiting(12), silent(12), silent(12)},
            "nothing was heard from host b (ranks 2, 3) for 12 s: its link is down, or it has stopped; "
            "ranks 0, 1 wait in all_gather 1841 for 12 s",
            "nothing was heard from host b: its link is down, or it has stopped"},
           {{working(0), working(0), silent(99), silent(99)}, ""},  // the run continues
           // A collective does not end.
           {{waiting(12), waiting(12), waiting(9), waiting(12)}, ""},
           {{waiting(12), waiting(12), waiting(12), waiting(12)},
            "all ranks wait in all_gather 1841 (step 920, backward) for 12 s: it does not end, as when a "
            "link between hosts is down",
            "all ranks wait in all_gather: it does not end, as when a link between hosts is down"},
           {{waiting(12), waiting(12), waiting(12, earlier), waiting(12)},
            "rank 2 on host b waits in sum 1840 (step 920, backward) for 12 s, but ranks 0, 1, 3 wait in "
            "all_gather 1841",
            "rank 2 on host b waits in sum, but ranks 0, 1, 3 wait in all_gather"},
           {{waiting(12), waiting(12, within), waiting(12), waiting(12)},
            "rank 1 on host a waits in barrier 5000 (step 920, backward) for 12 s, but ranks 0, 2, 3 wait "
            "in all_gather 1841"},
           // A rank has not started.
           {{starting(), absent(), starting(), starting()},
            "rank 1 on host a has not started; ranks 0, 2, 3 wait in MPI_Init for 300 s",
            "rank 1 on host a has not started"},
           // Ranks that compute may still arrive.
           {{working(0), working(0), working(0), working(0)}, ""},
           {{waiting(9.9), waiting(9.9), working(9.9), waiting(9.9)}, ""},
           {{waiting(60), waiting(60), working(1), waiting(60)}, ""},   // the missing rank makes progress
           {{working(60), working(60), working(60), working(60)}, ""},  // nobody waits
           {{waiting(60), waiting(60), RankState{}, waiting(60)}, ""},  // nothing is known of rank 2
           {{waiting(5), waiting(5), stopped(working(5)), waiting(5)}, ""}}) {
    EXPECT_EQ(sentence(row.ranks), row.sentence);
    if (row.kind != nullptr) {
      EXPECT_EQ(judge(table(row.ranks), {})->kind, row.kind);
    }
  }
}

TEST(Verdict, TheLimitFollowsTheUsualStepAndTheStage) {
  const auto with_step = [](double seconds, RankState state) {
    state.usual_step = seconds;
    return state;
  };
  const auto hangs = [&](double after, double step, Stage stage) {
    return !sentence({with_step(step, waiting(after)), with_step(step, in_stage(stage, working(after))),
                      with_step(step, waiting(after)), with_step(step, waiting(after))})
                .empty();
  };
  EXPECT_TRUE(hangs(10, 0.1, Stage::training));
  EXPECT_FALSE(hangs(19, 2.0, Stage::training));
  EXPECT_TRUE(hangs(20, 2.0, Stage::training));
  EXPECT_FALSE(hangs(299, 0.0, Stage::training)) << "the first step";
  EXPECT_TRUE(hangs(20, 2.0, Stage::evaluation));
  for (const Stage stage : {Stage::start, Stage::report, Stage::checkpoint, Stage::end}) {
    EXPECT_FALSE(hangs(299, 0.1, stage));
    EXPECT_TRUE(hangs(300, 0.1, stage));
  }
  EXPECT_NE(
      sentence({waiting(10), in_stage(Stage::checkpoint, stopped(working(10))), waiting(10), waiting(10)}),
      "")
      << "nothing takes long in a stopped process";
}

TEST(Verdict, OnlyEndedProcessesWithoutTheWatchdog) {
  const HangLimits off = hang_limits(10.0, false);
  EXPECT_EQ(sentence({waiting(99), waiting(99), working(99), waiting(99)}, off), "");
  EXPECT_NE(sentence({waiting(0), waiting(0), ended(SIGKILL), waiting(0)}, off), "");
}

TEST(Verdict, HostsNumberTheirCollectivesByThemselves) {
  const auto call = [](Collective kind) {
    return CollectiveCall{.kind = kind, .group = Group::host, .number = 7};
  };
  const RankState sums = waiting(0, call(Collective::sum)), waits = waiting(0, call(Collective::barrier));
  EXPECT_EQ(sentence({sums, sums, waits, waits}), "");
  EXPECT_EQ(sentence({sums, sums, sums, waits}),
            "rank 3 on host b entered barrier 7 (step 920, backward), but rank 2 entered sum 7");
}

TEST(Verdict, ManyRanksAreCounted) {
  RankTable many{.ranks = std::vector<RankState>(20, waiting(12)), .hosts = {"a"}, .boundaries = {0, 20}};
  many.ranks[5] = working(12);
  EXPECT_TRUE(
      judge(many, {})->sentence.ends_with("; ranks 0, 1, 2, 3, 4, 6, 7, 8 and 11 more wait in it for 12 s"));
}

}  // namespace
}  // namespace lockstep
