#pragma once

#include <string>
#include <vector>

namespace lockstep::launcher {

/// Whether two names mean the same host, regardless of domains. Addresses must be equal.
bool same_host(const std::string& left, const std::string& right);
/// Whether `name` means the host called `own`, judged without its addresses.
bool is_own_name(const std::string& name, const std::string& own);

/// Result of resolving a host's name, as mpirun does at each start.
struct FoundName {
  std::string name;
  std::string address{};  ///< IPv4; empty: none was found in time
  bool is_late = false;   ///< whether it cannot be resolved within a second
};

/// Resolves all names at once, for at most a second. `interrupt`: descriptor that ends this when it becomes
/// readable; the result is then incomplete. Without the program getent, nothing is found and nothing is late.
std::vector<FoundName> find_names(const std::vector<std::string>& names, int interrupt);

/// Remedy for a late name: "add a line to /etc/hosts: 10.0.0.1 b". `address`: empty if unknown.
std::string remedy_for_late_name(const std::string& name, const std::string& address);

}  // namespace lockstep::launcher
