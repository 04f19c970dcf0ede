#include "hosts/remote_shell.h"

#include <filesystem>
#include <sstream>

#include "lockstep/error.h"
#include "supervisor/mpirun_command.h"

namespace lockstep::launcher {
namespace {

constexpr const char* default_agents = "ssh : rsh";

CommandWords split(const std::string& text) {
  std::istringstream input(text);
  CommandWords words;
  for (std::string word; input >> word;) words.push_back(word);
  return words;
}

/// The first program of "ssh -p 2222 : rsh" that exists, with its options.
CommandWords find_agent(const std::string& agents) {
  std::istringstream input(agents);
  for (std::string agent; std::getline(input, agent, ':');) {
    CommandWords words = split(agent);
    if (!words.empty() && !find_program(words[0], {}).empty()) return words;
  }
  throw Error(Category::resource, "no program to start ranks on other hosts (" + agents +
                                      "); install openssh-client, or name one by OMPI_MCA_plm_rsh_agent");
}

}  // namespace

CommandWords remote_shell(const MpirunOptions& options) {
  CommandWords words = find_agent(options.parameter("plm_rsh_agent").value_or(default_agents));
  if (std::filesystem::path(words[0]).filename() == "ssh") {
    const CommandWords own{"-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"};
    words.insert(words.end(), own.begin(), own.end());
  }
  const CommandWords more = split(options.parameter("plm_rsh_args").value_or(""));
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace lockstep::launcher
