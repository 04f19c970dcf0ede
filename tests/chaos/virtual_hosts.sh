# Hosts that are namespaces of this machine, connected by a switch. Each has a network, a name (host-0, host-1, ...),
# processes, a /dev/shm and an sshd of its own; the file system is common. To be sourced after common.sh, in scripts that
# run as root and have called make_work.
# shellcheck shell=bash

# shellcheck source=tests/support/network.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/network.sh"
work=${work:-}
network=chaos$$  # of the network namespaces
inits=()         # for each host, the process whose end ends all others of the host
subnet=10.213.1
address() { echo "$subnet.$(($1 + 1))"; }

# why_no_hosts: prints why this machine cannot have such hosts; nothing: it can.
why_no_hosts() {
  local needed
  for needed in ip tc nsenter unshare ssh ssh-keygen /usr/sbin/sshd; do
    if ! command -v "$needed" >/dev/null; then
      say "no $needed; apt-get install --no-install-recommends iproute2 openssh-server openssh-client"
      return
    fi
  done
  if [[ $EUID -ne 0 ]]; then
    say "must run as root to make namespaces"
  elif ! unshare --net --uts --mount --pid --fork true 2>/dev/null; then
    say "this system permits no namespaces (unshare --net --uts --mount --pid)"
  fi
}

# make_hosts N [VARIABLE=VALUE...]: makes the hosts; commands on them get these variables.
make_hosts() {
  local i
  hosts=$1
  host_variables=("OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" "${@:2}")
  mkdir -p "$work/bin"
  ssh-keygen -q -t ed25519 -N '' -f "$work/key"
  printf 'Host *\n  IdentityFile %s/key\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n' \
    "$work" >"$work/ssh_config"
  # Programs on a host that call ssh without options find this script.
  printf '#!/bin/sh\nexec %s -F %s/ssh_config "$@"\n' "$(command -v ssh)" "$work" >"$work/bin/ssh"
  chmod +x "$work/bin/ssh"
  printf '127.0.0.1 localhost\n' >"$work/hosts"
  for ((i = 0; i < hosts; i++)); do printf '%s host-%d\n' "$(address $i)" $i >>"$work/hosts"; done
  make_network "$network" "$subnet" "$hosts"
  ip -n "$network" link add other type bridge  # of hosts that are cut off
  ip -n "$network" link set other up
  for ((i = 0; i < hosts; i++)); do start_host $i; done
}

# start_host I [VARIABLE=VALUE...]: starts the host. sshd is its first process, so killing sshd kills all.
start_host() {
  local i=$1 end=$((SECONDS + 20))
  local variables=("TMPDIR=$work/tmp-$i" "PATH=$work/bin:$PATH" "${host_variables[@]}" "${@:2}")
  mkdir -p "$work/tmp-$i"
  printf '%s\n' "ListenAddress $(address "$i")" "HostKey $work/key" "AuthorizedKeysFile $work/key.pub" "StrictModes no" \
    "UsePAM no" "PasswordAuthentication no" "PermitRootLogin yes" "PidFile none" "UseDNS no" "LogLevel ERROR" \
    "MaxStartups 100" "SetEnv ${variables[*]}" >"$work/sshd-$i"
  printf 'export %q\n' "${variables[@]}" >"$work/environment-$i"
  # shellcheck disable=SC2016  # $ is of the inner shell
  ip netns exec "$network-$i" unshare --uts --mount --pid --fork --kill-child bash -c '
    hostname "host-$1" && mount -t proc proc /proc && mount -t tmpfs shm /dev/shm && mount -t tmpfs run /run &&
      mkdir /run/sshd && mount --bind "$2/hosts" /etc/hosts && exec /usr/sbin/sshd -D -e -f "$2/sshd-$1"' \
    bash "$i" "$work" >>"$work/sshd-$i.log" 2>&1 </dev/null &
  until inits[i]=$(pgrep -P $! -x sshd) && ip netns exec "$network-$i" ss -Hltn 'sport = :22' | grep -q .; do
    ((SECONDS < end)) || die 1 "host-$i does not start: $(<"$work/sshd-$i.log")"
    sleep 0.05
  done
}

# lose_host I: kills all processes of the host at once. start_host brings it back.
lose_host() {
  kill -KILL "${inits[$1]}"
  while [[ -e /proc/${inits[$1]} ]]; do sleep 0.01; done
}

# on_host I COMMAND...: runs the command on the host, in the current folder. Replaces this process; the command is its
# child.
on_host() {
  # shellcheck disable=SC2016  # $ is of the inner shell
  exec nsenter --target "${inits[$1]}" --net --uts --mount --pid -- bash -c 'source "$1" && cd "$2" && exec "${@:3}"' \
    bash "$work/environment-$1" "$PWD" "${@:2}"
}

# in_mounts_of I COMMAND...: runs the command with the host's file systems.
in_mounts_of() { nsenter --target "${inits[$1]}" --mount -- "${@:2}"; }

# processes_on I [NAME]: prints the processes of the host with this name; without a name, all but those of ssh.
processes_on() {
  local namespace process name
  namespace=$(readlink "/proc/${inits[$1]}/ns/pid") || return 0
  for process in /proc/[0-9]*; do
    [[ $(readlink "$process/ns/pid" 2>/dev/null) == "$namespace" ]] || continue
    name=$(cat "$process/comm" 2>/dev/null) || continue
    if [[ -n ${2:-} ]]; then [[ $name == "$2" ]] || continue; else [[ $name != ssh* ]] || continue; fi
    grep -q '^State:.Z' "$process/status" 2>/dev/null || say "${process#/proc/}"
  done
}

# link I up|down
link() { ip -n "$network-$1" link set eth0 "$2"; }
# partition I...: cuts these hosts off from the others, though not from each other. heal ends it.
partition() {
  local i
  for i in "$@"; do ip -n "$network" link set "port$i" master other; done
}
heal() {
  local i
  for ((i = 0; i < hosts; i++)); do ip -n "$network" link set "port$i" master switch; done
}
# limit_rate I RATE: limits the link of the host in both directions, such as to "4mbit". unlimit_rate ends it.
limit_rate() {
  tc -n "$network" qdisc add dev "port$1" root tbf rate "$2" burst 32kb latency 400ms
  tc -n "$network-$1" qdisc add dev eth0 root tbf rate "$2" burst 32kb latency 400ms
}
unlimit_rate() {
  tc -n "$network" qdisc delete dev "port$1" root
  tc -n "$network-$1" qdisc delete dev eth0 root
}

end_hosts() {
  local init
  for init in "${inits[@]}"; do kill -KILL "$init" 2>/dev/null || true; done
  remove_network "$network" "${hosts:-0}"
}
