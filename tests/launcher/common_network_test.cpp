#include "hosts/common_network.h"

#include <gtest/gtest.h>

#include <sstream>

namespace lockstep::launcher {
namespace {

/// Interfaces of a host, parsed from text such as "eth0 10.0.0.1/24". "*" marks the interface of the default
/// route; "@1000" sets the speed. Each host also has a loopback interface.
std::vector<Interface> host(const std::string& text) {
  std::vector<Interface> interfaces{{.name = "lo", .address = "127.0.0.1", .prefix = 8, .is_loopback = true}};
  std::istringstream words(text);
  for (std::string name, address; words >> name >> address;) {
    Interface interface { .name = name, .is_default = address.ends_with('*') };
    const std::size_t slash = address.find('/'), at = address.find('@');
    interface.address = address.substr(0, slash);
    interface.prefix = std::stoi(address.substr(slash + 1));
    if (at != address.npos) interface.speed = std::stoull(address.substr(at + 1));
    interfaces.push_back(interface);
  }
  return interfaces;
}

TEST(CommonNetwork, TableOfHosts) {
  struct Row {
    const char* name;
    std::vector<std::string> hosts;
    std::string list;
    bool is_choice = true;
  };
  const std::vector<Row> table = {
      {"one network each", {"eth0 10.0.0.1/24*", "eth0 10.0.0.2/24*"}, "eth0", false},
      {"other names", {"eth0 10.0.0.1/24*", "eno1 10.0.0.2/24*"}, "10.0.0.0/24", false},
      {"Docker's bridge, with equal addresses",
       {"eth0 10.0.0.1/24* docker0 172.17.0.1/16", "eth0 10.0.0.2/24* docker0 172.17.0.1/16"},
       "eth0"},
      {"a virtual bridge on one host",
       {"virbr0 192.168.122.1/24 eth0 10.0.0.1/24*", "eth0 10.0.0.2/24*"},
       "eth0"},
      {"equal addresses of an interface that has no known name",
       {"usb0 192.168.7.2/24 eth0 10.0.0.1/24*", "usb0 192.168.7.2/24 eth0 10.0.0.2/24*"},
       "eth0"},
      {"link-local addresses",
       {"eth0 169.254.1.1/16 eth1 10.0.0.1/24", "eth0 169.254.1.2/16 eth1 10.0.0.2/24"},
       "eth1"},
      {"the faster of two",
       {"eth0 10.0.0.1/24*@1000 ib0 10.1.0.1/24@100000", "eth0 10.0.0.2/24*@1000 ib0 10.1.0.2/24@100000"},
       "ib0"},
      {"as fast as the slowest host's",
       {"eth0 10.0.0.1/24*@1000 eth1 10.1.0.1/24@10000", "eth0 10.0.0.2/24*@1000 eth1 10.1.0.2/24@100"},
       "eth0"},
      {"one of two with other names",
       {"eth0 10.0.0.1/24* eth1 10.1.0.1/24", "eth1 10.0.0.2/24* eth0 192.168.3.2/24"},
       "10.0.0.0/24"},
      {"networks that are connected by routers", {"eth0 10.0.1.1/24*", "eth0 10.0.2.1/24*"}, "eth0", false},
      {"routers and other names", {"eth0 10.0.1.1/24*", "eno1 10.0.2.1/24*"}, "10.0.0.0/22", false},
      {"three hosts, two of which share a network",
       {"eth0 10.0.0.1/24* eth1 10.1.0.1/24", "eth0 10.0.0.2/24* eth1 10.1.0.2/24", "eth0 10.0.0.3/24*"},
       "eth0"},
      {"nothing in common", {"docker0 172.17.0.1/16", "docker0 172.17.0.1/16"}, "", false},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(row.name);
    std::vector<std::vector<Interface>> hosts;
    for (const std::string& text : row.hosts) hosts.push_back(host(text));
    const CommonNetwork network = find_network(hosts);
    EXPECT_EQ(network.list, row.list);
    EXPECT_EQ(network.is_choice, row.is_choice);
  }
}

TEST(CommonNetwork, ListsHaveNamesAndNetworks) {
  const std::vector<Interface> interfaces = host("eth0 10.0.0.1/24 eth1 10.1.0.1/24");
  const auto found = [&](const std::string& list) {
    const Interface* const interface = first_of(interfaces, list);
    return interface == nullptr ? "none" : interface->name;
  };
  EXPECT_EQ(found("eth1"), "eth1");
  EXPECT_EQ(found("eth9,10.0.0.0/8"), "eth0");
  EXPECT_EQ(found("10.1.0.0/16"), "eth1");
  EXPECT_EQ(found("0.0.0.0/0"), "none") << "an address of 0 is none";
  for (const char* list : {"", "eth", "10.2.0.0/16", "10.0.0.0/33", "10.0.0.0/x", "10.0.0/24"}) {
    EXPECT_EQ(found(list), "none") << list;
  }
}

}  // namespace
}  // namespace lockstep::launcher
