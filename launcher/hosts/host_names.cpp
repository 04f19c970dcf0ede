#include "hosts/host_names.h"

#include <chrono>
#include <sstream>

#include "processes/program_output.h"
#include "supervisor/mpirun_command.h"

namespace lockstep::launcher {
namespace {

/// A name that is not found within it makes every start slow.
constexpr std::chrono::seconds quick{1};

}  // namespace

std::vector<FoundName> find_names(const std::vector<std::string>& names, int interrupt) {
  std::vector<FoundName> found;
  for (const std::string& name : names) found.push_back({.name = name});
  const std::string getent = find_program("getent", {});
  if (getent.empty()) return found;
  std::vector<CommandWords> lookups;
  for (const std::string& name : names) lookups.push_back({getent, "ahostsv4", name});
  const std::vector<ProgramOutput> outputs = read_programs(lookups, {.limit = quick, .interrupt = interrupt});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    found[i].is_late = outputs[i].answer == Answer::late;
    std::istringstream(outputs[i].text) >> found[i].address;
  }
  return found;
}

std::string remedy_for_late_name(const std::string& name, const std::string& address) {
  return "add a line to /etc/hosts: " + (address.empty() ? "ADDRESS" : address) + " " + name;
}

}  // namespace lockstep::launcher
