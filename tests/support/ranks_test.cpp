// main() of programs with tests on several ranks. Every rank prints its failures; rank 0 also prints
// GoogleTest's lines.
#include "support/ranks_test.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "comm/world/watch_of.h"
#include "watch/watch.h"

namespace lockstep::test {
namespace {

World* the_world = nullptr;

class FailurePrinter : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const World& world = *the_world;
    fmt::print(stderr, "rank {} of {}: {}:{}: {}\n", world.rank(), world.size(),
               result.file_name() == nullptr ? "" : result.file_name(), result.line_number(),
               result.message());
    if (result.fatally_failed()) world.abort(1);
  }
};

int run_tests(World& world) {
  the_world = &world;
  watch_of(world).set_limits(hang_limits(60.0));
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world.rank() > 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailurePrinter);
  return RUN_ALL_TESTS();
}

}  // namespace

World& RanksTest::world() { return *the_world; }

void RanksTest::TearDown() {
  const std::array<std::byte, 1> own{std::byte(HasFailure() ? 1 : 0)};
  const std::vector<std::byte> failed = world().all_gather(own);
  for (std::size_t rank = 0; rank < failed.size(); ++rank) {
    if (failed[rank] != std::byte(0) && own[0] == std::byte(0)) ADD_FAILURE() << "failed on rank " << rank;
  }
}

}  // namespace lockstep::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return lockstep::run_program(argc, argv, lockstep::test::run_tests);
}
