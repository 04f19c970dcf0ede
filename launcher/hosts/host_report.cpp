#include "hosts/host_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "core/text/printable.h"

namespace lockstep::launcher {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
/// A run is likely to fail with less memory or shared memory per rank, or less disk per host.
constexpr std::uint64_t little_memory = 256 * mib, little_shared = 16 * mib, little_disk = 256 * mib;
/// Smallest difference between clocks that is reported.
constexpr double noticeable_seconds = 2.0;

double seconds_of(HostAnswer::Time time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Seconds by which the clock of a host is certainly ahead of this machine's; negative: behind.
double seconds_ahead(const HostAnswer& answer) {
  const double clock = static_cast<double>(answer.facts->clock) / 1e3;
  const double asked = seconds_of(answer.asked), answered = seconds_of(answer.answered);
  return clock < asked ? clock - asked : std::max(0.0, clock - answered);
}

std::string list_of(const std::vector<Interface>& interfaces) {
  std::string text;
  for (const Interface& interface : interfaces) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", interface.name, interface.address);
  }
  return text.empty() ? "none" : text;
}

/// Category with this exit status; Category::data if there is none.
Category category_of(int status) {
  for (const Category known : {Category::usage, Category::resource, Category::peer, Category::internal}) {
    if (static_cast<int>(known) == status) return known;
  }
  return Category::data;
}

/// Collects the problems of one host after the other.
class Inspection {
 public:
  Inspection(const std::vector<HostAnswer>& answers, const ExpectedHost& expected)
      : answers_(answers), expected_(expected) {}

  std::vector<HostProblem> all() {
    for (const HostAnswer& answer : answers_) {
      host_ = answer.host;
      if (!answer.facts) {
        wrong(Category::peer, answer.failure, answer.remedy);
        continue;
      }
      compare_program(*answer.facts);
      compare_identity(answer);
      look_at_folder(*answer.facts);
      look_at_interfaces(*answer.facts);
      look_at_data(answer);
      look_at_size(answer);
      look_at_clock(answer);
    }
    return std::move(problems_);
  }

 private:
  void wrong(Category status, std::string text, std::string remedy) {
    problems_.push_back({host_, std::move(text), std::move(remedy), status});
  }
  void hint(std::string text, std::string remedy) {
    problems_.push_back({host_, std::move(text), std::move(remedy)});
  }

  void compare_program(const HostFacts& facts) {
    const HostFacts& here = expected_.here;
    const auto compare = [&](const char* what, const std::string& there, const std::string& own,
                             const char* remedy) {
      if (there == own) return true;
      wrong(Category::usage,
            fmt::format("has {} {}, this machine {}", what, printable(there), printable(own)), remedy);
      return false;
    };
    constexpr const char* same_build = "install the same build of lockstep on all hosts";
    if (!compare("version", facts.version, here.version, same_build)) return;
    if (!compare("revision", facts.revision, here.revision, same_build)) return;
    compare("MPI", facts.mpi, here.mpi, "install the same MPI library on all hosts");
  }

  void compare_identity(const HostAnswer& answer) {
    const auto [first, is_new] = names_.emplace(answer.facts->identity, answer.host);
    if (is_new) return;
    wrong(Category::usage, "is the same host as " + first->second,
          fmt::format("name it once, with all its ranks: {}:N", first->second));
  }

  void look_at_folder(const HostFacts& facts) {
    if (!facts.directory_error.empty()) {
      wrong(Category::resource,
            fmt::format("cannot start in {}: {}", expected_.directory, facts.directory_error),
            "start in a folder that all hosts have, or share this one");
    } else if (facts.disk_free > 0 && facts.disk_free < little_disk) {
      hint(fmt::format("has {} left on the disk of {}", size_text(facts.disk_free), expected_.directory),
           "make room for checkpoints");
    }
    if (facts.has_mpirun) return;
    wrong(Category::resource, "has no orted beside " + expected_.mpirun, "install openmpi-bin");
  }

  void look_at_interfaces(const HostFacts& facts) {
    if (expected_.interface.empty() || first_of(facts.interfaces, expected_.interface) != nullptr) return;
    wrong(Category::usage,
          fmt::format("has no interface {}, but {}", expected_.interface, list_of(facts.interfaces)),
          "name one that all hosts have, or their network: --interface 10.0.0.0/24");
  }

  void look_at_data(const HostAnswer& answer) {
    if (!answer.data) {
      if (expected_.data)
        hint("was still reading its data when the time was over", "ranks compare them when they start");
      return;
    }
    const DataFacts& data = *answer.data;
    if (!data.error.empty()) {
      wrong(category_of(data.status), "cannot open its data: " + data.error,
            "copy them there, or share them");
      return;
    }
    const auto [first, is_new] = data_.emplace(data.name, answer);
    if (is_new || first->second.data->fingerprint == data.fingerprint) return;
    wrong(Category::data, "has other data than " + first->second.host,
          "copy them again, or share one folder");
  }

  void look_at_size(const HostAnswer& answer) {
    const HostFacts& facts = *answer.facts;
    const int ranks = std::max(1, answer.ranks);
    if (facts.gpus == 0 && answer.ranks > facts.processors) {
      hint(fmt::format("gets {} on {}", counted(ranks, "rank"), counted(facts.processors, "core")),
           "start fewer: they are faster, and give the same bits");
    }
    if (facts.gpus > 0 && answer.ranks > facts.gpus) {
      hint(fmt::format("gets {} for {}", counted(ranks, "rank"), counted(facts.gpus, "GPU")),
           "start one per GPU");
    }
    if (facts.memory_free > 0 && facts.memory_free / static_cast<std::uint64_t>(ranks) < little_memory) {
      hint(fmt::format("has {} of free memory", size_text(facts.memory_free)), "end other programs there");
    }
    if (ranks > 1 && facts.shared_free / static_cast<std::uint64_t>(ranks) < little_shared) {
      hint(fmt::format("has {} left in /dev/shm", size_text(facts.shared_free)),
           "make it larger, or remove files that other programs left there");
    }
  }

  void look_at_clock(const HostAnswer& answer) {
    const double ahead = seconds_ahead(answer);
    if (std::abs(ahead) < noticeable_seconds) return;
    hint(fmt::format("has a clock that is {:.0f} s {}", std::abs(ahead), ahead > 0 ? "ahead" : "behind"),
         "set it, as by NTP: the run does not depend on it, but the times of files and logs do");
  }

  const std::vector<HostAnswer>& answers_;
  const ExpectedHost& expected_;
  std::string host_;
  std::map<std::string, std::string> names_;  ///< first host with each identity
  std::map<std::string, HostAnswer> data_;    ///< the first answer about each data set
  std::vector<HostProblem> problems_;
};

/// A line of the table.
using Row = std::array<std::string, 8>;

const Row headings = {"host", "ranks", "cores", "gpus", "free memory", "free disk", "address", "data"};

Row row_of(const HostAnswer& answer, const std::string& network) {
  const std::string ranks = answer.ranks > 0 ? std::to_string(answer.ranks) : "?";
  if (!answer.facts) return {answer.host, ranks};
  const HostFacts& facts = *answer.facts;
  const Interface* const found = first_of(facts.interfaces, network);
  return {answer.host,
          ranks,
          std::to_string(facts.processors),
          std::to_string(facts.gpus),
          size_text(facts.memory_free),
          size_text(facts.disk_free),
          found == nullptr ? "" : found->name + " " + found->address,
          answer.data ? answer.data->name + " " + answer.data->fingerprint.substr(0, 8) : ""};
}

/// Text of a table, with columns as wide as necessary. Leaves out columns that are empty below the first row.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::string> lines(rows.size());
  for (std::size_t column = 0; column < headings.size(); ++column) {
    const auto size = [column](const Row& row) { return row[column].size(); };
    if (std::all_of(rows.begin() + 1, rows.end(), [&](const Row& row) { return size(row) == 0; })) continue;
    const std::size_t width = size(*std::ranges::max_element(rows, {}, size));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      lines[row] += fmt::format("{:<{}}  ", rows[row][column], width);
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace

std::string HostProblem::sentence() const { return fmt::format("host {} {}; {}", host, text, remedy); }

const HostProblem* HostReport::worst() const {
  const HostProblem* worst = nullptr;
  for (const HostProblem& problem : problems) {
    if (problem.status && (worst == nullptr || *problem.status < *worst->status)) worst = &problem;
  }
  return worst;
}

std::string HostReport::interface_names() const {
  std::set<std::string> names;
  for (const HostAnswer& answer : answers) {
    const Interface* const found = answer.facts ? first_of(answer.facts->interfaces, network.list) : nullptr;
    if (found != nullptr) names.insert(found->name);
  }
  return fmt::format("{}", fmt::join(names, ","));
}

std::string HostReport::table() const {
  std::vector<Row> rows{headings};
  for (const HostAnswer& answer : answers) rows.push_back(row_of(answer, network.list));
  std::string text = aligned(rows);
  for (const HostProblem& problem : problems) {
    text += fmt::format("{}: {} {}; {}\n", problem.status ? "wrong" : "hint", problem.host, problem.text,
                        problem.remedy);
  }
  return text;
}

HostReport report_on(std::vector<HostAnswer> answers, const ExpectedHost& expected) {
  HostReport report{.answers = std::move(answers), .network = {}, .problems = {}};
  report.problems = Inspection(report.answers, expected).all();
  std::vector<std::vector<Interface>> interfaces{expected.here.interfaces};
  for (const HostAnswer& answer : report.answers) {
    if (answer.facts && answer.facts->identity != expected.here.identity) {
      interfaces.push_back(answer.facts->interfaces);
    }
  }
  if (interfaces.size() > 1) report.network = find_network(interfaces);
  if (!expected.interface.empty()) report.network.list = expected.interface;
  if (report.network.is_choice && report.network.list.empty() && report.worst() == nullptr) {
    report.problems.push_back(
        {.host = report.answers[0].host,
         .text = "shares no network with all others, as far as can be seen, and Open MPI chooses",
         .remedy = "name the one that leads to all of them: --interface eth0"});
  }
  return report;
}

}  // namespace lockstep::launcher
