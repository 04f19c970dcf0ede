#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

/// Number of words after this mpirun option that are its values.
std::size_t values_of(std::string_view option);

/// Whether `option` is -np or a synonym of it.
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

  /// Values of all options with these names, in their order on the command line.
  std::vector<std::string> values(Names names) const;
  /// Value of Open MPI's parameter `name`: from the last --mca NAME VALUE, else from the environment; none if
  /// it is not given.
  std::optional<std::string> parameter(std::string_view name) const;

  /// Whether a list or a file of hosts is given.
  bool names_hosts() const;
  /// Whether ranks are placed on hosts, or counted, by options such as --map-by and -N.
  bool places_ranks() const;

  /// Number of ranks that -np or a synonym gives; 0: none, or not a number.
  int ranks() const;
  /// Sets the number of ranks, in place of -np if that is given.
  void set_ranks(int ranks);

  /// A host in a list or a file of hosts.
  struct Host {
    std::string name;
    int slots = 0;  ///< 0: the number of slots is left open
  };
  /// Hosts of --hosts and --host, in their order. Files of --hostfile count only if no list is given, as in
  /// Open MPI 4.1. Hosts with slots=0 are left out. Empty: this host, or the hosts of a scheduler. A host of
  /// --host without a number has one slot for each time that it is named.
  std::vector<Host> hosts() const;
  /// Throws Error(usage) for a file of hosts that cannot be read, has a wrong word or names no host, which a
  /// silenced mpirun would not report; for a wrong number of slots in --hosts; and for an ssh user or port in
  /// any list or file. Replaces a file that is a pipe, which can be read only once, by --host.
  void check_hosts();
  /// Replaces all lists and files of hosts by one list of --host.
  void set_hosts(const std::vector<Host>& hosts);

 private:
  /// The name of an option and its values; fewer values if the command line ends too early.
  using Option = std::vector<std::string>;

  std::vector<Option> options_;
};

/// Total number of slots of the hosts that specify a number.
int count_slots(const std::vector<MpirunOptions::Host>& hosts);

/// Fills in unspecified numbers of slots: divides the ranks that have no slot yet evenly among these hosts
/// or, if `ranks` is 0 (unspecified), uses each host's number in `defaults`. Throws Error(usage) if the hosts
/// have fewer slots than there are ranks.
void fill_slots(std::vector<MpirunOptions::Host>& hosts, int ranks, const std::vector<int>& defaults);

/// Number of ranks that mpirun starts on each host; it fills one host after the other.
std::vector<int> ranks_of_hosts(const std::vector<MpirunOptions::Host>& hosts, int ranks);

}  // namespace lockstep::launcher
