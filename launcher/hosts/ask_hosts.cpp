#include "hosts/ask_hosts.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "core/json/json.h"
#include "core/options/internal_variables.h"
#include "core/text/command_line.h"
#include "hosts/host_names.h"
#include "lockstep/error.h"
#include "supervisor/mpirun_command.h"

namespace lockstep::launcher {
namespace {

using Hosts = std::vector<MpirunOptions::Host>;

/// Working directory of the ranks.
std::string directory_of(const MpirunOptions& options) {
  const std::vector<std::string> given = options.values({"wd", "wdir"});
  std::error_code error;
  return given.empty() ? std::filesystem::current_path(error).string() : given.back();
}

/// Variables that ranks on other hosts get, as NAME=VALUE: lockstep's options, and variables of mpirun's -x.
std::vector<std::string> variables_of(const MpirunOptions& options) {
  std::vector<std::string> variables;
  for (const std::string& name : options.values({"x"})) {
    const char* const value = std::getenv(name.c_str());
    if (name.find('=') != name.npos) {
      variables.push_back(name);
    } else if (value != nullptr) {
      variables.push_back(name + "=" + value);
    }
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const bool is_option = variable.starts_with("LOCKSTEP_");
    if (is_option && !is_internal_variable(variable.substr(0, variable.find('='))))
      variables.emplace_back(variable);
  }
  return variables;
}

/// Sends the questions to the hosts and reads the answers.
class Survey {
 public:
  Survey(const HostQuestions& questions, const MpirunOptions& options)
      : questions_(questions), options_(options), directory_(directory_of(options)) {
    const HostRequest request{.directory = directory_, .mpirun = questions.mpirun, .data = questions.data};
    words_ = {questions.program, preflight_flag, json_message(json_of(request))};
    words_.insert(words_.end(), questions.command.begin(), questions.command.end());
  }

  /// Asks this machine for its facts. Returns false if a signal has arrived.
  bool ask_here() {
    const CommandWords facts_only(words_.begin(), words_.begin() + 3);
    const ProgramOutput output = read_program(facts_only, wait({"this machine"}));
    if (output.answer == Answer::interrupted) return false;
    const HostAnswer answer = read_answer(output, questions_.program, "");
    if (!answer.facts)
      throw Error(Category::resource, "this machine " + answer.failure + "; " + answer.remedy);
    here_ = *answer.facts;
    return true;
  }

  /// Asks these hosts. Returns their answers; none if a signal has arrived.
  std::optional<std::vector<HostAnswer>> ask(const Hosts& hosts) {
    look_up(hosts);
    std::vector<CommandWords> commands;
    std::vector<std::string> names, shells;
    for (const MpirunOptions::Host& host : hosts) {
      names.push_back(host.name);
      shells.emplace_back();
      commands.push_back(words_);
      if (is_here(host.name)) continue;
      commands.back() = remote_shell(options_);
      commands.back().push_back(host.name);
      shells.back() = std::filesystem::path(commands.back()[0]).filename().string() + " " + host.name;
      commands.back().push_back(remote_line());
    }
    const HostAnswer::Time asked = std::chrono::system_clock::now();
    const std::vector<ProgramOutput> outputs = read_programs(commands, wait(names));
    std::vector<HostAnswer> answers;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].answer == Answer::interrupted) return std::nullopt;
      answers.push_back(read_answer(outputs[i], questions_.program, shells[i]));
      answers.back().host = names[i];
      answers.back().asked = asked;
    }
    return answers;
  }

  const HostFacts& here() const { return here_; }
  const std::string& directory() const { return directory_; }
  /// Host names that the system cannot resolve within a second.
  const std::vector<std::string>& late_names() const { return late_names_; }

 private:
  Wait wait(const std::vector<std::string>& names) const {
    return {.limit = answer_limit,
            .interrupt = questions_.interrupt,
            .on_slow = [this, names](const std::vector<std::size_t>& pending) {
              std::string text;
              for (const std::size_t i : pending) text += (text.empty() ? "" : ", ") + names[i];
              questions_.say("waiting for " + text);
            }};
  }
  std::string remote_line() const {
    CommandWords words{"env"};
    for (const std::string& variable : variables_of(options_)) words.push_back(variable);
    words.insert(words.end(), words_.begin(), words_.end());
    return shell_line(words);
  }
  bool has_address(const std::string& address) const {
    return std::ranges::find(here_.interfaces, address, &Interface::address) != here_.interfaces.end();
  }
  bool is_here(const std::string& name) const {
    return std::ranges::find(own_names_, name) != own_names_.end();
  }
  /// Finds the names that mean this machine, and the names that cannot be resolved in time.
  void look_up(const Hosts& hosts) {
    std::vector<std::string> others;
    for (const MpirunOptions::Host& host : hosts) {
      const std::string& name = host.name;
      if (is_own_name(name, here_.name) || has_address(name)) {
        own_names_.push_back(name);
      } else if (address_number(name) == 0) {
        others.push_back(name);
      }
    }
    for (const FoundName& found : find_names(others, questions_.interrupt)) {
      if (found.is_late) late_names_.push_back(found.name);
      if (has_address(found.address)) own_names_.push_back(found.name);
    }
  }

  const HostQuestions& questions_;
  const MpirunOptions& options_;
  std::string directory_;
  CommandWords words_;  ///< command line of the program on each host
  HostFacts here_;
  std::vector<std::string> own_names_, late_names_;
};

/// Fills in the numbers of ranks and slots that `options` leave open, except for hosts without an answer,
/// whose facts may determine them later.
void place(const HostQuestions& questions, std::vector<HostAnswer>& answers, Hosts hosts,
           MpirunOptions& options) {
  if (options.places_ranks()) {
    if (options.has({"hosts"})) options.set_hosts(hosts);
    return;
  }
  std::vector<int> defaults;
  for (const HostAnswer& answer : answers) {
    const HostFacts facts = answer.facts.value_or(HostFacts());
    defaults.push_back(default_ranks(questions.command, facts.nodes, [&] { return facts.gpus; }));
  }
  const Hosts given = hosts;
  fill_slots(hosts, options.ranks(), defaults);
  const std::vector<int> counts = ranks_of_hosts(hosts, options.ranks());
  bool is_open = false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].ranks = counts[i];
    if (answers[i].facts || given[i].slots > 0) continue;
    hosts[i].slots = 0;
    is_open = true;
  }
  options.set_hosts(hosts);
  if (is_open || options.ranks() > 0) return;
  options.set_ranks(std::accumulate(counts.begin(), counts.end(), 0));
}

void add_late_names(const std::vector<std::string>& names, HostReport& report) {
  for (const std::string& name : names) {
    const auto answer = std::ranges::find(report.answers, name, &HostAnswer::host);
    const Interface* const found =
        answer->facts ? first_of(answer->facts->interfaces, report.network.list) : nullptr;
    report.problems.push_back({.host = name,
                               .text =
                                   "has a name that is not found within a second, and mpirun looks for it at "
                                   "each start",
                               .remedy = remedy_for_late_name(name, found == nullptr ? "" : found->address)});
  }
}

}  // namespace

std::optional<HostReport> ask_hosts(const HostQuestions& questions, MpirunOptions& options) {
  Survey survey(questions, options);
  if (!survey.ask_here()) return std::nullopt;
  const Hosts hosts = options.hosts();
  const bool alone = hosts.empty();
  std::optional<std::vector<HostAnswer>> answers =
      survey.ask(alone ? Hosts{{.name = survey.here().name, .slots = 0}} : hosts);
  if (!answers) return std::nullopt;
  if (alone) {
    answers->front().ranks = options.ranks();
  } else {
    place(questions, *answers, hosts, options);
  }
  HostReport report =
      report_on(std::move(*answers), {.here = survey.here(),
                                      .interface = questions.interface,
                                      .directory = survey.directory(),
                                      .mpirun = questions.mpirun,
                                      .data = questions.data && questions.command[0] == "train"});
  add_late_names(survey.late_names(), report);
  return report;
}

}  // namespace lockstep::launcher
