#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

/// Number of words after this option of mpirun that are its values.
std::size_t values_of(std::string_view option);

/// Whether this is -np or one of its other names.
bool is_number_of_ranks(std::string_view option);

/// Options of mpirun, in the order of its command line.
class MpirunOptions {
 public:
  using Names = std::initializer_list<std::string_view>;

  MpirunOptions() = default;
  explicit MpirunOptions(const std::vector<std::string>& words) { append(words); }

  /// The options as words, each followed by its values.
  std::vector<std::string> words() const;
  /// Adds options, each with its values.
  void append(const std::vector<std::string>& words);

  /// Whether one of these options is given, as NAME or NAME=VALUE. Names are without dashes.
  bool has(Names names) const;

  /// Values of one of these options, in their order.
  std::vector<std::string> values(Names names) const;
  /// Value of the parameter `name` of Open MPI: the last of --mca NAME VALUE, or that of the environment;
  /// none: not given.
  std::optional<std::string> parameter(std::string_view name) const;

  /// Whether a list or a file of hosts is given.
  bool names_hosts() const;
  /// Whether ranks are placed on hosts, or counted, by options such as --map-by and -N.
  bool places_ranks() const;

  /// Number of ranks that -np or one of its other names asks for; 0: none, or no number.
  int ranks() const;
  /// Asks for this number of ranks.
  void set_ranks(int ranks);

  /// One host of a list or a file of hosts, with its slots; 0: their number is left open.
  struct Host {
    std::string name;
    int slots = 0;
  };
  /// Hosts of --hosts and --host, in their order. Files of --hostfile count only if there is no such list,
  /// as for Open MPI 4.1. Hosts with slots=0 are left out. Empty: this host, or the hosts of a scheduler.
  /// A host of --host without a number has one slot for each time that it is named.
  std::vector<Host> hosts() const;
  /// Throws Error(usage) for a file of hosts that cannot be read, has a wrong word or names no host, which
  /// mpirun, silenced, would not report; for --hosts with a wrong number of slots; and for a user or port of
  /// ssh in any list or file. Replaces a pipe, which can be read only once, by a list of --host.
  void check_hosts();
  /// Replaces all lists and files of hosts by one list of --host.
  void set_hosts(const std::vector<Host>& hosts);

 private:
  /// A name and its values; fewer if the command line ends before.
  using Option = std::vector<std::string>;

  std::vector<Option> options_;
};

/// Number of slots of all hosts, without those that are left open.
int count_slots(const std::vector<MpirunOptions::Host>& hosts);

/// Gives hosts whose number of slots is open as many as they need for `ranks` ranks, evenly; if that number
/// is open too (0), as many as `defaults` has for each host. Throws Error(usage) if the hosts have fewer
/// slots than there are ranks.
void fill_slots(std::vector<MpirunOptions::Host>& hosts, int ranks, const std::vector<int>& defaults);

/// Number of ranks that mpirun starts on each host: it fills one after the other.
std::vector<int> ranks_of_hosts(const std::vector<MpirunOptions::Host>& hosts, int ranks);

}  // namespace lockstep::launcher
