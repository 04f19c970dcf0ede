#include "supervisor/mpirun_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "core/process/process.h"
#include "core/process/processors.h"
#include "core/text/printable.h"
#include "device/host_probe.h"
#include "hosts/host_names.h"
#include "lockstep/error.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

/// Options by which the user decides how many ranks a host may have.
const MpirunOptions::Names load_options = {"map-by", "rf", "rankfile", "oversubscribe"};

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Value of the option --device of `command`, or of its environment variable.
std::string device_of(const std::vector<std::string>& command) {
  const std::string name = "--device";
  std::string device = is_set("LOCKSTEP_DEVICE") ? std::getenv("LOCKSTEP_DEVICE") : "";
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == name && i + 1 < command.size()) device = command[i + 1];
    if (command[i].starts_with(name + "=")) device = command[i].substr(name.size() + 1);
  }
  return device;
}

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream input(text);
  return {std::istream_iterator<std::string>(input), {}};
}

/// Finds the first program that exists in a list such as "ssh -p 2222 : rsh". Returns its full path and its
/// options.
std::vector<std::string> find_agent(const std::string& agents) {
  std::istringstream input(agents);
  for (std::string agent; std::getline(input, agent, ':');) {
    std::vector<std::string> words = words_in(agent);
    if (words.empty()) continue;
    words[0] = find_program(words[0], {});
    if (!words[0].empty()) return words;
  }
  throw Error(Category::resource, "no program to start ranks on other hosts (" + agents +
                                      "); install openssh-client, or name one by OMPI_MCA_plm_rsh_agent");
}

}  // namespace

Machine this_machine() {
  return {.cores = usable_cores(),
          .processors = available_processors(),
          .nodes = usable_nodes(),
          .scheduled = is_set("SLURM_JOB_ID") || is_set("PBS_JOBID") || is_set("LSB_JOBID"),
          .host = host_name()};
}

std::vector<std::string> other_hosts(const MpirunOptions& options, const Machine& machine) {
  std::vector<std::string> names;
  for (const MpirunOptions::Host& host : options.hosts()) {
    if (!is_own_name(host.name, machine.host)) names.push_back(host.name);
  }
  return names;
}

bool is_only_here(const MpirunOptions& options, const Machine& machine) {
  return !machine.scheduled && other_hosts(options, machine).empty();
}

void check_number_of_ranks(const MpirunOptions& options, const Machine& machine) {
  constexpr int most = 8;  // per processor
  if (options.has(load_options) || !is_only_here(options, machine)) return;
  const int processors = std::max(1, machine.processors);
  if (options.ranks() <= most * processors) return;
  throw Error(Category::usage, counted(options.ranks(), "rank") + " on " + counted(processors, "core") +
                                   ": more than " + std::to_string(most) +
                                   " for each core need --oversubscribe; one rank uses all cores by itself");
}

bool needs_oversubscribe(const MpirunOptions& options, const Machine& machine) {
  if (options.names_hosts() || options.has(load_options)) return false;
  const int ranks = options.ranks();
  return !machine.scheduled && ranks > 0 && (ranks > machine.cores || ranks > machine.processors);
}

bool leaves_ranks_open(const MpirunOptions& options, const Machine& machine) {
  return !machine.scheduled && options.ranks() == 0 && !options.names_hosts() && !options.places_ranks();
}

int default_ranks(const std::vector<std::string>& command, int nodes,
                  const std::function<int()>& count_gpus) {
  const int gpus = device_of(command) == "cpu" ? 0 : count_gpus();
  return gpus > 0 ? gpus : std::max(1, nodes);
}

std::vector<std::string> mpirun_command(const Start& start, const Machine& machine) {
  std::vector<std::string> words = {start.mpirun};
  const auto add = [&](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  // lockstep assigns and pins the cores itself.
  if (!start.options.has({"bind-to"})) add({"--bind-to", "none"});
  if (needs_oversubscribe(start.options, machine)) add({"--oversubscribe"});
  for (const std::string& variable : start.variables) add({"-x", variable});
  add(start.options.words());
  add({start.program});
  add(start.command);
  return words;
}

std::vector<std::string> remote_shell(const MpirunOptions& options) {
  std::vector<std::string> words = find_agent(options.parameter("plm_rsh_agent").value_or("ssh : rsh"));
  if (fs::path(words[0]).filename() == "ssh") {
    words.insert(words.end(), {"-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"});
  }
  const std::vector<std::string> more = words_in(options.parameter("plm_rsh_args").value_or(""));
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string find_program(const std::string& name, const std::vector<std::string>& folders) {
  std::vector<std::string> all = folders;
  std::istringstream path(is_set("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) all.push_back(folder.empty() ? "." : folder);
  for (const std::string& folder : all) {
    const fs::path candidate = fs::path(folder) / name;
    std::error_code error;
    if (fs::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0) {
      return fs::absolute(candidate, error).string();
    }
  }
  return {};
}

}  // namespace lockstep::launcher
