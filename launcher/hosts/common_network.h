#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/process/interfaces.h"

namespace lockstep::launcher {

/// Network over which hosts reach each other.
struct CommonNetwork {
  /// Interfaces in the form of Open MPI's parameters: "eth0", or "10.0.0.0/24" if their names differ; empty:
  /// no common network was found.
  std::string list;
  bool is_choice = false;  ///< whether a host has other interfaces, too
};

/// Finds the network for hosts with these interfaces, not counting loopback, link-local addresses, virtual
/// bridges of one host (docker0, virbr0), and addresses that several hosts have. Prefers the fastest network
/// of which all hosts are part; else takes the interfaces of the default routes.
CommonNetwork find_network(std::span<const std::vector<Interface>> hosts);

/// The first interface that is part of `list`, which has the form of CommonNetwork::list; null: none.
const Interface* first_of(const std::vector<Interface>& interfaces, const std::string& list);

}  // namespace lockstep::launcher
