#include "cli/commands.h"

#include <unistd.h>

#include <cstdlib>

#include "cli/output.h"
#include "comm/world/check_same.h"
#include "comm/world/launch.h"

namespace lockstep {

int print_help(const std::string& text) {
  if (is_first_process()) {
    print(text);
  }
  return 0;
}

int run_on_ranks(OptionSet& set, int argc, char** argv, const std::function<int(World&)>& body) {
  if (wants_help(argc, argv)) return print_help(set.help());
  return run_program(argc, argv, [&](World& world) {
    return set.explain([&] {
      world.agree([&] { set.parse(argc, argv, environ); });
      check_same(world, set.lines_to_compare());
      return body(world);
    });
  });
}

bool is_first_process() {
  return read_launch([](const char* name) { return std::getenv(name); }).rank == 0;
}

}  // namespace lockstep
