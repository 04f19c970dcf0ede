# Hosts that are network namespaces of this machine, connected by a switch. To be sourced by scripts that run as root.
# shellcheck shell=bash

# make_network NAME SUBNET HOSTS: the hosts are namespaces NAME-0, NAME-1, ..., whose eth0 has the address SUBNET.1,
# SUBNET.2, ... The bridge `switch` of the namespace NAME connects their links, which are port0, port1, ... there.
make_network() {
  local i
  ip netns add "$1"
  ip -n "$1" link add switch type bridge
  ip -n "$1" link set switch up
  for ((i = 0; i < $3; i++)); do
    ip netns add "$1-$i"
    ip -n "$1" link add "port$i" type veth peer name eth0 netns "$1-$i"
    ip -n "$1" link set "port$i" master switch up
    ip -n "$1-$i" address add "$2.$((i + 1))/24" dev eth0
    ip -n "$1-$i" link set eth0 up
    ip -n "$1-$i" link set lo up
  done
}

# remove_network NAME HOSTS: removes the network, even one that was made only in part.
remove_network() {
  local i
  for ((i = 0; i < $2; i++)); do ip netns delete "$1-$i" 2>/dev/null || true; done
  ip netns delete "$1" 2>/dev/null || true
}
