// Comparison of the ranks' options, on real processes.
#include "comm/world/check_same.h"

#include "support/expect_error.h"
#include "support/ranks_test.h"

namespace lockstep {
namespace {

class CheckSame : public test::RanksTest {};

void expect_refused(const World& world, const std::vector<Line>& lines, const std::string& field,
                    const std::string& message) {
  const auto error = error_of([&] { check_same(world, lines); });
  EXPECT_EQ(error.has_value(), world.size() > 1) << "whether anybody noticed the difference";
  if (!error) return;
  EXPECT_EQ(error->category(), Category::usage);
  if (world.rank() != world.size() - 1) return;
  EXPECT_EQ(error->field(), field);
  EXPECT_EQ(error->message(), message);
}

TEST_F(CheckSame, TheRankWithOtherLinesNamesTheFirstDifference) {
  check_same(world(), {});
  check_same(world(), {{"lr", "0.1"}, {"freeze", ""}});
  const std::string rank = "rank " + std::to_string(world().size() - 1);
  const bool other = world().rank() > 0 && world().rank() == world().size() - 1;
  expect_refused(world(), {{"seed", "1"}, {"lr", other ? "0.05" : "0.1"}}, "lr",
                 rank + " has lr = 0.05, rank 0 has 0.1; give all ranks the same");
  expect_refused(world(), other ? std::vector<Line>{} : std::vector<Line>{{"seed", "1"}}, "seed",
                 rank + " has seed = nothing, rank 0 has 1; give all ranks the same");
  expect_refused(world(), other ? std::vector<Line>{{"seed", "a\nb"}} : std::vector<Line>{}, "seed",
                 rank + " has seed = a?b, rank 0 has nothing; give all ranks the same");
  expect_refused(world(), {{"resume", other ? option_given : option_not_given}}, "resume",
                 "is given on " + rank + ", but not given on rank 0; give all ranks the same");
}

}  // namespace
}  // namespace lockstep
