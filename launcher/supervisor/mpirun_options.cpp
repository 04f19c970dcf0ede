#include "supervisor/mpirun_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>

#include "core/text/printable.h"
#include "core/text/split.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"

namespace lockstep::launcher {
namespace {

using Names = MpirunOptions::Names;

// Names without dashes: mpirun accepts most options with one or two.
const Names rank_options = {"np", "n", "c"};
const Names own_host_lists = {"hosts"};  // an option of lockstep-run, not of mpirun
const Names host_lists = {"H", "host", "hosts"};
const Names host_files = {"hostfile", "machinefile", "default-hostfile"};
/// Options that place ranks on hosts, or determine the number of ranks.
const Names placing_options = {"map-by",     "rf",  "rankfile", "N",  "npernode",
                               "npersocket", "ppr", "pernode",  "app"};
const Names parameter_options = {"mca", "gmca", "omca", "pmixmca", "prtemca"};
const Names remaining_options = {"N",       "am",          "bind-to",    "cpu-list",    "cpu-set",
                                 "map-by",  "npernode",    "npersocket", "ompi-server", "output-filename",
                                 "path",    "personality", "ppr",        "prefix",      "preload-files",
                                 "rank-by", "rankfile",    "report-uri", "rf",          "s",
                                 "stdin",   "timeout",     "tune",       "wd",          "wdir",
                                 "x",       "xterm"};

bool is_one_of(std::string_view word, Names names) { return std::ranges::find(names, word) != names.end(); }

/// Whether `word` is one of the options `names`.
bool among(std::string_view word, Names names) {
  return word.starts_with('-') && is_one_of(word.substr(word.starts_with("--") ? 2 : 1), names);
}

/// Value of a decimal number; 0: `text` is not a number.
int number(std::string_view text) { return std::max(whole_number<int>(text).value_or(0), 0); }

void add(std::vector<MpirunOptions::Host>& hosts, const MpirunOptions::Host& host) {
  const auto known = std::ranges::find(hosts, host.name, &MpirunOptions::Host::name);
  if (known == hosts.end()) {
    hosts.push_back(host);
  } else {
    known->slots += host.slots;
  }
}

/// Adds the hosts of a list such as "a:2,b". `slots`: slots of a host without a number.
void read_list(const std::string& list, int slots, std::vector<MpirunOptions::Host>& hosts) {
  std::istringstream input(list);
  for (std::string entry; std::getline(input, entry, ',');) {
    const std::size_t colon = entry.find(':');
    add(hosts, {entry.substr(0, colon),
                colon == std::string::npos ? slots : number(std::string_view(entry).substr(colon + 1))});
  }
}

/// Words that Open MPI 4.1 accepts before "=" in a file of hosts (orte/util/hostfile).
const Names slot_words = {"slots", "count", "cpu"};
const Names maximum_words = {"max_slots", "max-slots", "slots_max", "slots-max", "max_cpu",   "max-cpu",
                             "cpu_max",   "cpu-max",   "max_count", "max-count", "count_max", "count-max"};
const Names login_words = {"username", "user_name", "user-name", "port"};

/// Advice on users and ports. lockstep-run passes all hosts to mpirun by --host, which accepts neither.
constexpr const char* login_remedy = "users and ports in ~/.ssh/config (User, Port)";

/// `text` without comments. Keeps line ends, so that lines keep their numbers.
std::string without_comments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t comment = 0;  // length of the comment here
    if (text.starts_with('#') || text.starts_with("//")) {
      comment = std::min(text.find('\n'), text.size());
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/", 2);
      if (end != text.npos) comment = end + 2;
    }
    if (comment == 0) result += text[0];
    result.append(static_cast<std::size_t>(std::ranges::count(text.substr(0, comment), '\n')), '\n');
    text.remove_prefix(std::max<std::size_t>(1, comment));
  }
  return result;
}

/// `text` without blanks around "=".
std::string with_tight_equals(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  std::string result;
  for (const char c : text) {
    if (is_blank(c) && result.ends_with('=')) continue;
    while (c == '=' && !result.empty() && is_blank(result.back())) result.pop_back();
    result += c;
  }
  return result;
}

/// Reads lines "name slots=4" of the file `path`, which `input` has opened; a file that cannot be read has no
/// hosts. Returns a message about the first wrong word, "hosts:3: 'slot=4' is wrong: write ..."; empty: no
/// word is wrong.
std::string read_file(const std::ifstream& input, const std::string& path,
                      std::vector<MpirunOptions::Host>& hosts) {
  std::ostringstream text;
  text << input.rdbuf();
  std::istringstream lines(with_tight_equals(without_comments(text.str())));
  std::string wrong;
  int line_number = 0;
  const auto refuse = [&](const std::string& word, const std::string& remedy) {
    if (!wrong.empty()) return;
    wrong =
        fmt::format("{}:{}: {} is wrong: write {}", printable(path), line_number, in_quotes(word), remedy);
  };
  for (std::string line; std::getline(lines, line);) {
    ++line_number;
    std::istringstream words(line);
    MpirunOptions::Host host;
    if (!(words >> host.name)) continue;
    // Each line of a rankfile, "rank 0=a slot=1", gives its host a slot.
    if (host.name == "rank" && words >> host.name) {
      add(hosts, {host.name.substr(host.name.find('=') + 1), 1});
      continue;
    }
    if (host.name.find('@') != host.name.npos) refuse(host.name, login_remedy);
    const std::size_t colon = host.name.find(':');
    const bool has_slots = std::ranges::count(host.name, ':') == 1 && !host.name.starts_with('+');
    if (has_slots && number(std::string_view(host.name).substr(colon + 1)) > 0) {
      refuse(host.name,
             printable(host.name.substr(0, colon)) + " slots=" + printable(host.name.substr(colon + 1)));
    } else if (host.name.find('=') != std::string::npos) {
      refuse(host.name, "lines as a slots=2");
    }
    bool has_ranks = true;  // unless slots=0
    for (std::string word; words >> word;) {
      const std::string_view key = std::string_view(word).substr(0, word.find('='));
      const bool has_value = key.size() < word.size(), is_slots = is_one_of(key, slot_words);
      const std::optional<int> count =
          has_value ? whole_number<int>(std::string_view(word).substr(key.size() + 1)) : std::nullopt;
      // mpirun ignores unknown words without "=".
      const bool is_right = is_slots || is_one_of(key, maximum_words) ? count.value_or(-1) >= 0 : !has_value;
      const bool is_login = has_value && is_one_of(key, login_words);
      if (!is_right) refuse(word, is_login ? login_remedy : "lines as a slots=2");
      if (!is_right || !is_slots) continue;
      host.slots = *count;
      has_ranks = host.slots > 0;
    }
    if (has_ranks) add(hosts, host);
  }
  return wrong;
}

/// Value of --host that names `hosts`.
std::string list_of(const std::vector<MpirunOptions::Host>& hosts) {
  std::string list;
  for (const MpirunOptions::Host& host : hosts) {
    list +=
        (list.empty() ? "" : ",") + host.name + (host.slots > 0 ? ":" + std::to_string(host.slots) : ":*");
  }
  return list;
}

/// Throws Error(usage) if a list of hosts has a user, as in USER@NAME, or if an entry of --hosts is neither
/// NAME nor NAME:SLOTS.
void check_list(const std::string& option, const std::string& list) {
  for (const std::string& entry : split(list, ',')) {
    const std::size_t colon = entry.find(':');
    const bool has_number = colon == std::string::npos || number(entry.substr(colon + 1)) > 0;
    std::string wrong;
    if (entry.find('@') != entry.npos) wrong = std::string(" is wrong: write ") + login_remedy;
    if (among(option, own_host_lists) && (!has_number || colon == 0 || entry.empty())) {
      wrong = " is no host; write them as a:2,b:2 or a,b";
    }
    if (!wrong.empty())
      throw Error(Category::usage, fmt::format("{}: {}{}", option, in_quotes(entry), wrong));
  }
}

}  // namespace

std::size_t values_of(std::string_view option) {
  if (among(option, parameter_options)) return 2;
  const bool takes_one = among(option, rank_options) || among(option, host_lists) ||
                         among(option, host_files) || among(option, remaining_options);
  return takes_one ? 1 : 0;
}

bool is_number_of_ranks(std::string_view option) { return among(option, rank_options); }

std::vector<std::string> MpirunOptions::words() const {
  std::vector<std::string> all;
  for (const Option& option : options_) all.insert(all.end(), option.begin(), option.end());
  return all;
}

void MpirunOptions::append(const std::vector<std::string>& words) {
  for (std::span rest(words); !rest.empty();) {
    const std::span option = rest.first(std::min(1 + values_of(rest[0]), rest.size()));
    options_.emplace_back(option.begin(), option.end());
    rest = rest.subspan(option.size());
  }
}

bool MpirunOptions::has(Names names) const {
  return std::ranges::any_of(options_, [&](const Option& option) {
    return among(std::string_view(option[0]).substr(0, option[0].find('=')), names);
  });
}

std::vector<std::string> MpirunOptions::values(Names names) const {
  std::vector<std::string> found;
  for (const Option& option : options_) {
    if (among(option[0], names) && option.size() > 1) found.push_back(option[1]);
  }
  return found;
}

std::optional<std::string> MpirunOptions::parameter(std::string_view name) const {
  std::optional<std::string> value;
  if (const char* const variable = std::getenv(("OMPI_MCA_" + std::string(name)).c_str())) value = variable;
  for (const Option& option : options_) {
    if (among(option[0], parameter_options) && option.size() > 2 && option[1] == name) value = option[2];
  }
  return value;
}

bool MpirunOptions::names_hosts() const { return has(host_lists) || has(host_files); }

bool MpirunOptions::places_ranks() const { return has(placing_options); }

int MpirunOptions::ranks() const {
  const std::vector<std::string> given = values(rank_options);
  return given.empty() ? 0 : number(given.back());
}

void MpirunOptions::set_ranks(int ranks) {
  const auto last = std::find_if(options_.rbegin(), options_.rend(), [](const Option& option) {
    return is_number_of_ranks(option[0]) && option.size() > 1;
  });
  if (last == options_.rend()) return append({"-np", std::to_string(ranks)});
  (*last)[1] = std::to_string(ranks);
}

std::vector<MpirunOptions::Host> MpirunOptions::hosts() const {
  std::vector<Host> result;
  const bool has_list = has(host_lists);
  for (const Option& option : options_) {
    if (option.size() < 2) continue;
    const int slots = among(option[0], own_host_lists) ? 0 : 1;
    if (among(option[0], host_lists)) read_list(option[1], slots, result);
    if (among(option[0], host_files) && !has_list) read_file(std::ifstream(option[1]), option[1], result);
  }
  return result;
}

void MpirunOptions::check_hosts() {
  const bool has_list = has(host_lists);
  for (Option& option : options_) {
    if (option.size() < 2) continue;
    if (among(option[0], host_lists)) check_list(option[0], option[1]);
    if (!among(option[0], host_files)) continue;
    const std::string file = option[1];
    if (file == "none") continue;  // means no file to Open MPI
    errno = 0;
    const std::ifstream input(file);
    if (!input.good()) {
      throw Error(Category::usage,
                  option[0] + ": cannot open '" + printable(file) + "': " + std::strerror(errno));
    }
    std::vector<Host> found;
    if (const std::string wrong = read_file(input, file, found); !wrong.empty()) {
      throw Error(Category::usage, option[0] + ": " + wrong);
    }
    // Open MPI comes with a default file in which all lines are comments.
    if (found.empty() && !among(option[0], {"default-hostfile"})) {
      throw Error(Category::usage,
                  option[0] + ": " + printable(file) + ": names no host; write lines as a slots=2");
    }
    // A pipe can be read only once, but hosts() and mpirun would read it again.
    std::error_code error;
    if (!found.empty() && !has_list && !std::filesystem::is_regular_file(file, error)) {
      option = {"--host", list_of(found)};
    }
  }
}

void MpirunOptions::set_hosts(const std::vector<Host>& hosts) {
  std::erase_if(options_, [](const Option& option) {
    return among(option[0], host_lists) || among(option[0], host_files);
  });
  append({"--host", list_of(hosts)});
}

int count_slots(const std::vector<MpirunOptions::Host>& hosts) {
  int slots = 0;
  for (const MpirunOptions::Host& host : hosts) slots += host.slots;
  return slots;
}

void fill_slots(std::vector<MpirunOptions::Host>& hosts, int ranks, const std::vector<int>& defaults) {
  auto open = static_cast<int>(std::ranges::count(hosts, 0, &MpirunOptions::Host::slots));
  int left = ranks - count_slots(hosts);
  if (ranks > 0 && open == 0 && left > 0) {
    throw Error(Category::usage, counted(ranks, "rank") + " on hosts with " + counted(ranks - left, "slot") +
                                     ": write the number of ranks after each host, as in --hosts a:4,b:4");
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].slots > 0) continue;
    hosts[i].slots = std::max(1, ranks > 0 ? (left + open - 1) / open : defaults[i]);
    left -= hosts[i].slots;
    --open;
  }
}

std::vector<int> ranks_of_hosts(const std::vector<MpirunOptions::Host>& hosts, int ranks) {
  std::vector<int> counts;
  int left = ranks > 0 ? ranks : count_slots(hosts);
  for (const MpirunOptions::Host& host : hosts) {
    counts.push_back(std::min(left, host.slots));
    left -= counts.back();
  }
  return counts;
}

}  // namespace lockstep::launcher
