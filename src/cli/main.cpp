#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/preflight/preflight.h"
#include "cli/program_help.h"
#include "core/process/launcher_report.h"
#include "core/process/process.h"
#include "core/text/message.h"
#include "core/text/nearest.h"
#include "device/cuda_probe.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Runs the command that `words` begin with. Throws Error(usage) if there is none.
int run_command(std::span<char* const> words) {
  if (const Command* const command = find_command(words)) {
    const std::string_view found = command->name;
    const auto rest = words.subspan(found.find(' ') == std::string_view::npos ? 0 : 1);
    return command->run(static_cast<int>(rest.size()), const_cast<char**>(rest.data()));
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  throw Error(Category::usage, unknown_name("command", words[0], names));
}

/// `lockstep help data pack` is `lockstep data pack --help`.
int explain(std::span<char* const> words) {
  if (words.empty()) return print_help(program_help());
  std::string option = "--help";
  std::vector<char*> all(words.begin(), words.end());
  all.push_back(option.data());
  return run_command(all);
}

/// Handles a call without a command: prints the likeliest next steps on a terminal, else the help.
int greet() {
  print_help(isatty(STDOUT_FILENO) != 0 ? greeting() : program_help());
  return static_cast<int>(Category::usage);
}

/// Whether this process prints errors that occur before MPI starts. Only the first process of a launcher
/// prints, unless each runs a command independently. Without a launcher, a rank number in the environment is
/// a leftover.
bool prints_errors(std::span<char* const> words) {
  const Command* const command = find_command(words);
  return is_first_process() || !is_below_launcher() || (command != nullptr && command->is_alone);
}

int dispatch(std::span<char* const> words) {
  if (words.empty()) return greet();
  const std::string_view name = words[0];
  if (name == "--help" || name == "-h") return print_help(program_help());
  if (name == "help") return explain(words.subspan(1));
  if (name == "--version") return print_help(version_text());
  if (name == "--gpus") {
    const cuda::Probe found = cuda::probe(cuda::Detail::needed);
    print(fmt::format("{}\n", cuda::obstacle(found) ? 0 : found.gpus.size()));
    return 0;
  }
  if (name == preflight_flag) return run_preflight(words.subspan(1));
  check_launcher();
  report_to_launcher({});  // this process has started
  return run_command(words);
}

}  // namespace

}  // namespace lockstep

int main(int argc, char** argv) {
  const std::span<char* const> all(argv, static_cast<std::size_t>(argc));
  const auto words = all.subspan(std::min<std::size_t>(all.size(), 1));
  lockstep::open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit then fails a write, as a full disk does
  try {
    const int status = lockstep::dispatch(words);
    if (status == 0) lockstep::flush_output();
    return status;
  } catch (...) {  // errors before the World exists or after its end
    const lockstep::Error error = lockstep::as_error(std::current_exception());
    if (lockstep::prints_errors(words)) {
      lockstep::print_message(std::string("lockstep: error: ") + error.what());
    }
    return error.exit_status();
  }
}
