#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hosts/host_report.h"
#include "processes/program_output.h"
#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Questions to the hosts of a run before it starts.
struct HostQuestions {
  std::string mpirun;     ///< path
  std::string program;    ///< path of lockstep, the same on all hosts
  CommandWords command;   ///< of lockstep; empty: none
  std::string interface;  ///< of --interface; empty: to be found
  bool data = false;      ///< whether hosts open the data of `command` (not empty), which may take long
  int interrupt = -1;     ///< descriptor that ends the questions when it can be read
  std::function<void(const std::string&)> say;  ///< prints a line for people
};

/// Asks all hosts of `options`, or without any this machine, at once: by mpirun's ssh, this machine directly.
/// Then resolves the numbers of ranks and slots that `options` leave open. None if a signal has arrived.
/// Throws Error(usage) for more ranks than slots, Error(resource) without ssh, or if the program does not
/// work here.
std::optional<HostReport> ask_hosts(const HostQuestions& questions, MpirunOptions& options);

}  // namespace lockstep::launcher
