#include <cstdio>
#include <exception>
#include <span>
#include <string>

#include "cli/output.h"
#include "core/process/process.h"
#include "core/version.h"
#include "lockstep/error.h"
#include "supervisor/arguments.h"
#include "supervisor/launcher.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  open_standard_streams();
  try {
    const launcher::Arguments arguments =
        launcher::parse_arguments(std::span<const char* const>(argv + 1, argv + argc));
    if (arguments.version) {
      print_report(std::string("lockstep-run ") + version() + "\nrevision  " + revision() + "\n");
      return 0;
    }
    if (arguments.help) {
      print_report(launcher::help());
      return 0;
    }
    if (arguments.command.empty() && !arguments.check) {
      std::fputs(launcher::help().c_str(), stderr);
      return static_cast<int>(Category::usage);
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
