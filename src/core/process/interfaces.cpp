#include "core/process/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "core/text/split.h"
#include "core/text/whole_number.h"

namespace lockstep {
namespace {

std::uint32_t address_of(const sockaddr* address) {
  sockaddr_in ipv4{};
  std::memcpy(&ipv4, address, sizeof ipv4);
  return ipv4.sin_addr.s_addr;
}

/// Interfaces of default routes: lines of /proc/net/route whose destination is 0.
std::set<std::string> default_interfaces() {
  std::set<std::string> names;
  std::ifstream routes("/proc/net/route");
  for (std::string line; std::getline(routes, line);) {
    std::istringstream fields(line);
    std::string name, destination;
    if (fields >> name >> destination && destination == "00000000") names.insert(name);
  }
  return names;
}

/// Speed that the system reports for an interface, in megabits per second; 0 if none, as for virtual ones.
std::uint64_t speed_of_interface(const std::string& name) {
  std::int64_t speed = 0;
  std::ifstream("/sys/class/net/" + name + "/speed") >> speed;
  return speed > 0 ? static_cast<std::uint64_t>(speed) : 0;
}

/// Whether `network`, such as "10.0.0.0/8", contains the address.
bool contains(std::string_view network, const std::string& address) {
  const std::size_t slash = network.find('/');
  const std::optional<unsigned> prefix = whole_number<unsigned>(network.substr(slash + 1));
  if (!prefix || *prefix > 32) return false;
  const std::uint32_t mask = *prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - *prefix);
  const std::uint32_t own = address_number(std::string(network.substr(0, slash)));
  return own != 0 && (ntohl(own) & mask) == (ntohl(address_number(address)) & mask);
}

}  // namespace

std::vector<Interface> own_interfaces() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  const std::set<std::string> defaults = default_interfaces();
  std::vector<Interface> found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) != 0;
    if (!is_up || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    const in_addr address{address_of(one->ifa_addr)};
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address, text, sizeof text);
    found.push_back({.name = one->ifa_name,
                     .address = text,
                     .prefix = one->ifa_netmask == nullptr ? 32 : std::popcount(address_of(one->ifa_netmask)),
                     .is_loopback = (one->ifa_flags & IFF_LOOPBACK) != 0,
                     .is_default = defaults.contains(one->ifa_name),
                     .speed = speed_of_interface(one->ifa_name)});
  }
  freeifaddrs(all);
  return found;
}

std::uint32_t address_number(const std::string& address) {
  in_addr number{};
  return inet_pton(AF_INET, address.c_str(), &number) == 1 ? number.s_addr : 0;
}

bool has_interface(std::string_view list, const Interface& interface) {
  return std::ranges::any_of(split(list, ','), [&](const std::string& entry) {
    return entry == interface.name || (entry.find('/') != entry.npos && contains(entry, interface.address));
  });
}

}  // namespace lockstep
