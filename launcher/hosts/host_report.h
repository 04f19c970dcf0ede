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
  std::optional<Category> status = {};  ///< category of the run's failure; none: the run is possible

  /// Host, problem and remedy: "host b has revision ...; install the same build on all hosts".
  std::string sentence() const;
};

/// Answers of all hosts, the network between them, and their problems.
struct HostReport {
  std::vector<HostAnswer> answers;  ///< answers of the hosts on which ranks are to run
  CommonNetwork network;            ///< network between these hosts and this machine
  std::vector<HostProblem> problems;

  /// The worst problem that makes the run impossible, preferably one that a restart does not change; null:
  /// none.
  const HostProblem* worst() const;
  /// Names of the hosts' interfaces to `network`, separated by commas.
  std::string interface_names() const;
  /// A line per host, then a line per problem; ends with a line feed.
  std::string table() const;
};

/// Properties that all hosts should share.
struct ExpectedHost {
  HostFacts here;         ///< this machine, and the program that was started on it
  std::string interface;  ///< given by the user or by Open MPI's parameters; empty: to be found
  std::string directory;  ///< working directory
  std::string mpirun;     ///< path of mpirun
  bool data = false;      ///< whether data were asked for
};

/// Finds problems in the answers, and the network between the hosts.
HostReport report_on(std::vector<HostAnswer> answers, const ExpectedHost& expected);

}  // namespace lockstep::launcher
