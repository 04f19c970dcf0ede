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

/// Options of mpirun as its command line has them, each followed by its values.
class MpirunOptions {
 public:
  using Names = std::initializer_list<std::string_view>;

  MpirunOptions() = default;
  explicit MpirunOptions(std::vector<std::string> words) : words_(std::move(words)) {}

  const std::vector<std::string>& words() const { return words_; }
  /// Adds an option with its values.
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
  /// Hosts that --hosts, --host and the files of --hostfile name, in their order. Hosts with slots=0 are left
  /// out. Empty: this host, or the hosts of a scheduler. Without a number, --host has one slot per mention.
  std::vector<Host> hosts() const;
  /// Throws Error(usage) for a file of hosts that cannot be read, has a wrong word or names no host, as
  /// mpirun, silenced, does not say so, and for --hosts with a wrong number of slots. Replaces a pipe, which
  /// can be read only once, by a list of --host.
  void check_hosts();
  /// Replaces all lists and files of hosts by one list of --host.
  void set_hosts(const std::vector<Host>& hosts);

 private:
  /// Index of the number of ranks, the last one if there are several; 0: none.
  std::size_t index_of_ranks() const;

  std::vector<std::string> words_;
};

}  // namespace lockstep::launcher
