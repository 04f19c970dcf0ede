#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hosts/common_network.h"
#include "hosts/host_answer.h"
#include "lockstep/error.h"

namespace lockstep::launcher {

/// Problem of a host that prevents a run, or slows it down.
struct HostProblem {
  std::string host;
  std::string text;                     ///< predicate: "has revision 1234, and this host 5678"
  std::string remedy;                   ///< an imperative
  std::optional<Category> status = {};  ///< of a run that would fail; none: the run is possible

  /// "host b has revision ...; install the same build on all hosts"
  std::string sentence() const;
};

/// Answers of all hosts, and what follows from them.
struct HostReport {
  std::vector<HostAnswer> answers;  ///< of the hosts of the ranks
  CommonNetwork network;            ///< of these hosts and this machine
  std::vector<HostProblem> problems;

  /// The worst problem: of those that a run cannot bear, one that a restart does not change, if there is one;
  /// null: none.
  const HostProblem* worst() const;
  /// Names of the hosts' interfaces of `network`, separated by commas.
  std::string interface_names() const;
  /// A line per host and, below, one per problem; ends with a line feed.
  std::string table() const;
};

/// Properties that all hosts should share.
struct ExpectedHost {
  HostFacts here;         ///< this machine, and the program that was started on it
  std::string interface;  ///< that the user or Open MPI's parameters name; empty: to be found
  std::string directory;  ///< working directory
  std::string mpirun;     ///< path
  bool data = false;      ///< whether data were asked for
};

/// Looks for problems in the answers, and for the network.
HostReport report_on(std::vector<HostAnswer> answers, const ExpectedHost& expected);

}  // namespace lockstep::launcher
