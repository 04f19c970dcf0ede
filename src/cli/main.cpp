#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/commands.h"
#include "cli/output.h"
#include "comm/world/agreement.h"
#include "core/launcher_report.h"
#include "core/message.h"
#include "core/nearest.h"
#include "core/version.h"
#include "device/cuda_probe.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string help() {
  std::string text = "lockstep " + std::string(version()) +
                     ": data-parallel training with the same bits on any number of ranks.\n\n"
                     "Usage: lockstep COMMAND [options]          one rank\n"
                     "       lockstep-run -np N COMMAND ...      N ranks, started by mpirun\n\n"
                     "Examples:\n"
                     "  lockstep train --lr 0.2 --save-model lenet.safetensors   train LeNet\n"
                     "  lockstep-run -np 2 train --lr 0.2                        the same bits on 2 ranks\n"
                     "  lockstep eval lenet.safetensors                          measure its accuracy\n\n"
                     "Commands:\n";
  for (const Command& command : commands()) {
    text += fmt::format("  {:<9} {}\n", command.name, command.summary);
  }
  return text +
         "\n'lockstep COMMAND --help' explains the command. 'lockstep --version' prints the version, and\n"
         "'lockstep --gpus' the number of GPUs on this host that can be used.\n";
}

int dispatch(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name.empty() || name == "--help" || name == "-h" || name == "help") {
    print_help(help());
    return name.empty() ? static_cast<int>(Category::usage) : 0;
  }
  if (name == "--version") {
    if (is_first_process()) {
      print("lockstep " + std::string(version()) + "\n");
    }
    return 0;
  }
  if (name == "--gpus") {
    const cuda::Probe found = cuda::probe(cuda::Detail::needed);
    print(fmt::format("{}\n", cuda::obstacle(found) ? 0 : found.gpus.size()));
    return 0;
  }
  check_launcher();
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (name == command.name) {
      return command.run(argc - 1, argv + 1);
    }
    names.emplace_back(command.name);
  }
  throw Error(Category::usage, unknown_name("command", name, names));
}

}  // namespace

}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    const int status = lockstep::dispatch(argc, argv);
    if (status == 0) lockstep::flush_output();
    return status;
  } catch (...) {  // errors before the World exists or after its end
    const lockstep::Error error = lockstep::as_error(std::current_exception());
    if (lockstep::is_first_process()) {
      lockstep::print_message(std::string("lockstep: error: ") + error.what());
    }
    return error.exit_status();
  }
}
