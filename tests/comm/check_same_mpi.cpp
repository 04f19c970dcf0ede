// Real processes: the collectives of World, and the comparison of what ranks were given. Ends with status 0
// or with the line of the first check that failed.

#include <string>

#include "comm/world/check_same.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error(Category::internal, "check failed: " + what);
}

void expect_refused(const World& world, const std::vector<Line>& lines, const std::string& field,
                    const std::string& message) {
  const int last = world.size() - 1;
  try {
    check_same(world, lines);
  } catch (const Error& error) {
    expect(error.category() == Category::usage, "category of a difference");
    if (world.rank() != last) return;
    expect(error.field() == field, "field of a difference: " + error.field());
    expect(error.message() == "rank " + std::to_string(last) + message, error.what());
    return;
  }
  expect(world.size() == 1, "a difference that nobody noticed");
}

void check_comparison(const World& world) {
  check_same(world, {});
  check_same(world, {{"lr", "0.1"}, {"freeze", ""}});
  const bool other = world.rank() > 0 && world.rank() == world.size() - 1;
  expect_refused(world, {{"seed", "1"}, {"lr", other ? "0.05" : "0.1"}}, "lr",
                 " has lr = 0.05, rank 0 has 0.1; give all ranks the same");
  expect_refused(world, other ? std::vector<Line>{} : std::vector<Line>{{"seed", "1"}}, "seed",
                 " has seed = nothing, rank 0 has 1; give all ranks the same");
  expect_refused(world, other ? std::vector<Line>{{"seed", "a\nb"}} : std::vector<Line>{}, "seed",
                 " has seed = a?b, rank 0 has nothing; give all ranks the same");
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  return lockstep::run_program(argc, argv, [](lockstep::World& world) {
    lockstep::check_comparison(world);
    return 0;
  });
}
