#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/process/interfaces.h"

namespace lockstep::launcher {

/// Network over which hosts reach each other.
struct CommonNetwork {
  /// Interfaces as Open MPI's parameters name them: "eth0", or "10.0.0.0/24" where their names differ; empty:
  /// none was found.
  std::string list;
  bool is_choice = false;  ///< whether a host has other interfaces, too
};

/// Finds the network for hosts with these interfaces, without loopback, link-local addresses, virtual bridges
/// of one host (docker0, virbr0), and addresses that several hosts have. First choice: a network of which all
/// hosts are part, the fastest one; else the interfaces by which all hosts reach other networks.
CommonNetwork find_network(std::span<const std::vector<Interface>> hosts);

/// The first interface of a host that is part of such a list; null: none is.
const Interface* first_of(const std::vector<Interface>& interfaces, const std::string& list);

}  // namespace lockstep::launcher
