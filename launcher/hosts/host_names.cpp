#include "hosts/host_names.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <sstream>
#include <string_view>

#include "core/process/interfaces.h"
#include "processes/program_output.h"
#include "supervisor/mpirun_command.h"

namespace lockstep::launcher {

bool same_host(const std::string& left, const std::string& right) {
  const bool has_address = address_number(left) != 0 || address_number(right) != 0;
  const auto first_label = [&](const std::string& name) {
    return std::string_view(name).substr(0, has_address ? name.npos : name.find('.'));
  };
  const auto same_letter = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::ranges::equal(first_label(left), first_label(right), same_letter);
}

bool is_own_name(const std::string& name, const std::string& own) {
  return name == "localhost" || name == "127.0.0.1" || same_host(name, own);
}

std::vector<FoundName> find_names(const std::vector<std::string>& names, int interrupt) {
  std::vector<FoundName> found;
  for (const std::string& name : names) found.push_back({.name = name});
  const std::string getent = find_program("getent", {});
  if (getent.empty()) return found;
  std::vector<CommandWords> lookups;
  for (const std::string& name : names) lookups.push_back({getent, "ahostsv4", name});
  const std::vector<ProgramOutput> outputs =
      read_programs(lookups, {.limit = std::chrono::seconds(1), .interrupt = interrupt});
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
