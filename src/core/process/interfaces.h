#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/members.h"

namespace lockstep {

/// An IPv4 address of a host, on an interface that is up.
struct Interface {
  std::string name{};     ///< "eth0"
  std::string address{};  ///< "10.0.0.1"
  int prefix = 0;         ///< number of leading bits that the addresses of its network share
  bool is_loopback = false;
  bool is_default = false;  ///< whether packets to other networks leave through it
  std::uint64_t speed = 0;  ///< megabits per second; 0: unknown
};
LOCKSTEP_MEMBERS(Interface, name, address, prefix, is_loopback, is_default, speed)

/// Interfaces of this host, in the system's order. Never throws; empty if they cannot be read.
std::vector<Interface> own_interfaces();

/// An address such as "10.0.0.1" as a number in network byte order; 0 if `address` is not an IPv4 address.
std::uint32_t address_number(const std::string& address);

/// Environment variable that lists the interfaces that Open MPI uses between hosts; the watchdog uses the
/// same.
inline constexpr const char* interfaces_variable = "OMPI_MCA_btl_tcp_if_include";

/// Whether `list`, the value of this variable, contains the interface: comma-separated interface names and
/// networks such as 10.0.0.0/8.
bool has_interface(std::string_view list, const Interface& interface);

}  // namespace lockstep
