#include "hosts/common_network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string_view>

namespace lockstep::launcher {
namespace {

using Interfaces = std::vector<Interface>;

std::uint32_t number_of(const std::string& address) { return ntohl(address_number(address)); }

std::uint32_t mask_of(int prefix) { return prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix); }

std::string network_text(std::uint32_t address, int prefix) {
  const in_addr network{htonl(address & mask_of(prefix))};
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &network, text.data(), text.size());
  return std::string(text.data()) + "/" + std::to_string(prefix);
}

/// Whether the interface has the name of a virtual bridge, which connects only programs of its own host.
bool is_virtual_bridge(const Interface& interface) {
  constexpr std::array<std::string_view, 12> beginnings{"docker", "br-",     "veth",  "virbr",
                                                        "podman", "cni",     "lxcbr", "lxdbr",
                                                        "vmnet",  "vboxnet", "cali",  "flannel"};
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return interface.name.starts_with(beginning); });
}

bool is_link_local(const Interface& interface) { return number_of(interface.address) >> 16 == 0xa9fe; }

/// The interfaces of each host that may lead to the others.
std::vector<Interfaces> useful_interfaces(std::span<const Interfaces> hosts) {
  std::map<std::string, int> uses;
  for (const Interfaces& host : hosts) {
    for (const Interface& interface : host) ++uses[interface.address];
  }
  std::vector<Interfaces> useful(hosts.begin(), hosts.end());
  for (Interfaces& host : useful) {
    std::erase_if(host, [&](const Interface& interface) {
      return interface.is_loopback || is_link_local(interface) || is_virtual_bridge(interface) ||
             uses[interface.address] > 1;
    });
  }
  return useful;
}

/// One interface of each host.
using Choice = std::vector<const Interface*>;

/// The first interface of each host for which `fits` is true; empty if a host has none.
template <class Fits>
Choice choose(const std::vector<Interfaces>& hosts, const Fits& fits) {
  Choice choice;
  for (const Interfaces& host : hosts) {
    const auto found = std::ranges::find_if(host, fits);
    if (found == host.end()) return {};
    choice.push_back(&*found);
  }
  return choice;
}

/// Megabits per second of the slowest interface; 0: unknown.
std::uint64_t speed_of(const Choice& choice) {
  return (*std::ranges::min_element(choice, {}, [](const Interface* one) { return one->speed; }))->speed;
}

/// Choices whose interfaces are all part of one network.
std::vector<Choice> common_networks(const std::vector<Interfaces>& hosts) {
  std::vector<Choice> choices;
  for (const Interface& first : hosts[0]) {
    const Choice choice = choose(hosts, [&](const Interface& other) {
      return other.prefix == first.prefix &&
             ((number_of(other.address) ^ number_of(first.address)) & mask_of(first.prefix)) == 0;
    });
    if (!choice.empty()) choices.push_back(choice);
  }
  return choices;
}

Choice best_choice(const std::vector<Interfaces>& hosts) {
  const std::vector<Choice> choices = common_networks(hosts);
  if (choices.empty()) return choose(hosts, [](const Interface& interface) { return interface.is_default; });
  const auto rank = [](const Choice& choice) {
    return std::pair(speed_of(choice), std::ranges::count_if(choice, &Interface::is_default));
  };
  return *std::ranges::max_element(choices, {}, rank);
}

/// The smallest network that contains the interfaces; at least as large as the network of each.
std::string covering_network(const Choice& choice) {
  const std::uint32_t first = number_of(choice[0]->address);
  int prefix = choice[0]->prefix;
  for (const Interface* const other : choice) {
    prefix = std::min({prefix, other->prefix, std::countl_zero(first ^ number_of(other->address))});
  }
  return network_text(first, prefix);
}

/// Whether `list` matches the chosen interface of each host and no other.
bool is_exact(const std::string& list, const Choice& choice, std::span<const Interfaces> hosts) {
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (const Interface& interface : hosts[host]) {
      if (has_interface(list, interface) != (interface.address == choice[host]->address)) return false;
    }
  }
  return true;
}

}  // namespace

CommonNetwork find_network(std::span<const Interfaces> hosts) {
  CommonNetwork network;
  network.is_choice = std::ranges::any_of(hosts, [](const Interfaces& host) {
    return std::ranges::count_if(host, [](const Interface& one) { return !one.is_loopback; }) > 1;
  });
  const std::vector<Interfaces> useful = useful_interfaces(hosts);
  const Choice choice = best_choice(useful);
  if (choice.empty()) return network;
  for (const std::string& list : {choice[0]->name, covering_network(choice)}) {
    if (is_exact(list, choice, hosts)) {
      network.list = list;
      break;
    }
  }
  return network;
}

const Interface* first_of(const Interfaces& interfaces, const std::string& list) {
  const auto found = std::ranges::find_if(
      interfaces, [&](const Interface& interface) { return has_interface(list, interface); });
  return found == interfaces.end() ? nullptr : &*found;
}

}  // namespace lockstep::launcher
