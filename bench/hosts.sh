#!/usr/bin/env bash
# Measures sums of gradients between hosts and, in the same run, MPI_Allreduce. The hosts are network namespaces of
# this machine, each with its own link to one switch. Prints times, bytes sent, and the share of the link's rate that is
# needed to send the bytes of one rank per host. Must run as root. Ends its processes and removes its namespaces at the
# end, even if it is interrupted or terminated.
#
#   bench/hosts.sh [--hosts N] [--ranks N] [--rate MBIT] [--rounds N] [--program FILE] [-- COMMAND...]
#
# --ranks is the number of ranks on each host. mpirun starts COMMAND instead of `lockstep bench allreduce`. The last
# lines are the total bytes that each host has sent and received.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/common.sh
source bench/common.sh
# shellcheck source=tests/support/network.sh
source tests/support/network.sh

hosts=2
ranks=1
rate=1000
rounds=5
program=build/release/lockstep
command=()

while (($# > 0)); do
  case $1 in
    --hosts) hosts=${2:-} && shift ;;
    --ranks) ranks=${2:-} && shift ;;
    --rate) rate=${2:-} && shift ;;
    --rounds) rounds=${2:-} && shift ;;
    --program) program=${2:-} && shift ;;
    --) shift && command=("$@") && break ;;
    -h | --help) print_help && exit 0 ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
  shift
done
[[ $hosts =~ ^[1-9][0-9]?$ && $ranks =~ ^[1-9][0-9]*$ && $rate =~ ^[1-9][0-9]*$ && $rounds =~ ^[1-9][0-9]*$ ]] ||
  fail "--hosts, --ranks, --rate and --rounds take a number"
((EUID == 0)) || fail "must run as root, to make network namespaces"
[[ -x $program ]] || fail "$program does not exist; build it: cmake --preset release && cmake --build --preset release"

name=hosts$$  # name of the switch namespace, and prefix of the host namespaces
work=$(mktemp -d)
signal_hosts() { # sends signal $1 to all processes of the hosts; fails if there are none
  local found=1
  for ((i = 0; i < hosts; ++i)); do
    for process in $(ip netns pids "$name-$i" 2> /dev/null); do
      kill -s "$1" "$process" 2> /dev/null || true
      found=0
    done
  done
  return $found
}
tear_down() {
  trap '' HUP INT TERM
  if signal_hosts TERM; then
    for ((tenth = 0; tenth < 20; ++tenth)); do
      if signal_hosts 0; then sleep 0.1; fi
    done
    signal_hosts KILL || true
  fi
  remove_network "$name" "$hosts"
  rm -rf "$work"
}
trap tear_down EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

subnet=10.213.$((($$ / 2) % 256))
address() { echo "$subnet.$(($1 + 1))"; }

make_network "$name" "$subnet" "$hosts"
# The queues at both ends of a link limit each direction to the rate.
limit() { tc -n "$1" qdisc add dev "$2" root tbf rate "${rate}mbit" burst 256kb latency 100ms; }
for ((i = 0; i < hosts; ++i)); do
  limit "$name" "port$i"
  limit "$name-$i" eth0
done

# mpirun calls this agent instead of ssh, with the arguments ADDRESS COMMAND... Each host has a separate host name and
# a separate folder for temporary files, where Open MPI keeps the files of its daemons.
cat > "$work/agent" << AGENT
#!/usr/bin/env bash
host=\$((\${1##*.} - 1))
shift
mkdir -p "$work/\$host"
TMPDIR="$work/\$host" exec ip netns exec "$name-\$host" unshare --uts \\
  bash -c "hostname host-\$host && exec \$*"
AGENT
chmod +x "$work/agent"

places=
for ((i = 0; i < hosts; ++i)); do places+=,$(address "$i"):$ranks; done

on_hosts() {
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$work/agent" "$(address 0)" mpirun \
    --mca plm_rsh_agent "$work/agent" --mca btl self,vader,tcp --mca btl_tcp_if_include eth0 \
    --mca oob_tcp_if_include eth0 --bind-to none --oversubscribe --host "${places#,}" \
    -np $((hosts * ranks)) "$@"
}

bytes() { # prints the bytes sent and received by each host
  for ((i = 0; i < hosts; ++i)); do
    ip netns exec "$name-$i" cat /sys/class/net/eth0/statistics/{tx,rx}_bytes | tr '\n' ' '
  done
}

sums=no
if ((${#command[@]} == 0)); then
  sums=yes
  command=("$program" bench allreduce --rounds "$rounds")
fi
before=$(bytes)
on_hosts "${command[@]}" | tee "$work/output" & # in the background: bash interrupts only `wait` for its traps
wait $!
after=$(bytes)
if [[ $sums == yes ]]; then
  awk -v hosts="$hosts" -v rate="$rate" '$1 + 0 >= 16777216 {
    ideal = 2 * (hosts - 1) / hosts * $1 / (rate / 8)  # microseconds
    printf "%d bytes: ring %.0f %%, canonical %.0f %% of the link\n", $1, 100 * ideal / $2, 100 * ideal / $4
  }' "$work/output"
fi
awk -v before="$before" -v after="$after" -v hosts="$hosts" 'BEGIN {
  split(before, b, " "); split(after, a, " ")
  for (i = 0; i < hosts; ++i) {
    printf "host %d: %.1f MB sent, %.1f MB received\n", i, (a[2 * i + 1] - b[2 * i + 1]) / 1e6,
           (a[2 * i + 2] - b[2 * i + 2]) / 1e6
  }
}'
