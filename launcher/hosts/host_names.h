#pragma once

#include <string>
#include <vector>

namespace lockstep::launcher {

/// Whether two names mean the same host: with or without a domain. Addresses have to be equal.
bool same_host(const std::string& left, const std::string& right);
/// Whether `name` means the host that is called `own`, as far as can be told without its addresses.
bool is_own_name(const std::string& name, const std::string& own);

/// Result of looking for a host's name, as mpirun does at each start.
struct FoundName {
  std::string name;
  std::string address{};  ///< IPv4; empty: none was found in time
  bool is_late = false;   ///< whether the system still looks for it after a second
};

/// Looks for all names at once, for at most a second. `interrupt`: descriptor that ends it when it can be
/// read; the names are then incomplete. Without the program getent, nothing is found and nothing is late.
std::vector<FoundName> find_names(const std::vector<std::string>& names, int interrupt);

/// Remedy for a late name: "add a line to /etc/hosts: 10.0.0.1 b". `address`: empty if it is unknown.
std::string remedy_for_late_name(const std::string& name, const std::string& address);

}  // namespace lockstep::launcher
