#include "cli/commands.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/output.h"
#include "comm/launch.h"

namespace lockstep {

bool wants_help(int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](std::string_view argument) { return argument == "--help" || argument == "-h"; });
}

int print_help(const std::string& text) {
  if (is_first_process()) {
    print(text);
  }
  return 0;
}

bool is_first_process() {
  return read_launch([](const char* name) { return std::getenv(name); }).rank == 0;
}

}  // namespace lockstep
