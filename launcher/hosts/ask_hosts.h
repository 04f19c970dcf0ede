#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hosts/host_report.h"
#include "processes/program_output.h"
#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Parameters of the questions to the hosts of a run before it starts.
struct HostQuestions {
  std::string mpirun;     ///< path of mpirun
  std::string program;    ///< path of lockstep, the same on all hosts
  CommandWords command;   ///< command of lockstep; empty: none
  std::string interface;  ///< interface or network that the user chose; empty: to be found
  bool data = false;      ///< whether hosts open the data of `command` (not empty), which may take long
  int interrupt = -1;     ///< descriptor that ends the questions when it becomes readable
  std::function<void(const std::string&)> say;  ///< prints a line for the user
};

/// Asks all hosts of `options`, or this machine if there are none, at once: other hosts by mpirun's ssh, this
/// machine directly. Then resolves the numbers of ranks and slots that `options` leave open. Returns none if
/// a signal has arrived. Throws Error(usage) for more ranks than slots, Error(resource) without ssh, or if
/// the program does not work here.
std::optional<HostReport> ask_hosts(const HostQuestions& questions, MpirunOptions& options);

}  // namespace lockstep::launcher
