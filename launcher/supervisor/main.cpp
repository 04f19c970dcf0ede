#include <fcntl.h>

#include <cstdio>
#include <exception>
#include <span>

#include "core/version.h"
#include "lockstep/error.h"
#include "supervisor/arguments.h"
#include "supervisor/launcher.h"

/// Gives /dev/null to standard streams that are closed, as another file would get their numbers.
static void open_standard_streams() {
  for (int stream = 0; stream < 3; ++stream) {
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream) return;
  }
}

int main(int argc, char** argv) {
  using namespace lockstep;
  open_standard_streams();
  try {
    const launcher::Arguments arguments =
        launcher::parse_arguments(std::span<const char* const>(argv + 1, argv + argc));
    if (arguments.version) {
      std::printf("lockstep-run %s\nrevision  %s\n", version(), revision());
      return 0;
    }
    if (arguments.help || (arguments.command.empty() && !arguments.check)) {
      std::fputs(launcher::help().c_str(), arguments.help ? stdout : stderr);
      return arguments.help ? 0 : static_cast<int>(Category::usage);
    }
    return launcher::launch(arguments);
  } catch (const Error& error) {
    std::fprintf(stderr, "lockstep-run: error: %s\n", error.what());
    return error.exit_status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep-run: error: %s\n", error.what());
    return static_cast<int>(Category::internal);
  }
}
