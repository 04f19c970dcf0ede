#include "cli/program_help.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "comm/world/mpi_handles.h"
#include "core/version.h"
#include "run/environment.h"

namespace lockstep {

std::string program_help() {
  std::string text = fmt::format(
      "lockstep {}: data-parallel training with the same bits on any number of ranks.\n\n"
      "Usage: lockstep COMMAND [options]          one rank\n"
      "       lockstep-run -np N COMMAND ...      N ranks, started by mpirun\n\n"
      "Examples:\n"
      "  lockstep train --lr 0.2 --save-model lenet.safetensors   train LeNet\n"
      "  lockstep-run -np 2 train --lr 0.2                        the same bits on 2 ranks\n"
      "  lockstep eval lenet.safetensors                          measure its accuracy\n\n"
      "Commands:\n",
      version());
  for (const Command& command : commands()) {
    text += fmt::format("  {:<11} {}\n", command.name, command.summary);
  }
  return text +
         "\n'lockstep help COMMAND' explains a command. 'lockstep --version' prints the versions of the "
         "program\n"
         "and its parts, and 'lockstep --gpus' the number of GPUs on this host that can be used.\n";
}

std::string greeting() {
  return fmt::format(
      "lockstep {} trains image and table classifiers on one or many processes, with equal results.\n\n"
      "  lockstep train --dataset images --data-dir DIR   train on your own photographs, DIR/CLASS/*.jpg\n"
      "  lockstep train --dataset synthetic               try it without any data\n"
      "  lockstep doctor --dataset synthetic              check this machine\n\n"
      "'lockstep help' lists all commands, and 'lockstep help train' the options of one.\n",
      version());
}

std::string version_text() {
  const std::string mpi = mpi_library(), cuda = cuda_version();
  return fmt::format("lockstep {}\nrevision  {}\ncompiler  {}\nMPI       {}\nCUDA      {}\n", version(),
                     revision(), this_environment().compiler, mpi.substr(0, mpi.find(',')),
                     cuda.empty() ? "built without" : cuda);
}

}  // namespace lockstep
