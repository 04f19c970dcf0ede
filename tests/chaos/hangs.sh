#!/usr/bin/env bash
# Stops a random rank (SIGSTOP), kills one (SIGKILL) or takes a host's link down at random instants of a training, and
# checks that the watchdog names the right rank or host within 15 s (a killed one: 5 s) and that all ranks are gone
# within 20 s (5 s). Hosts are network namespaces, made by bench/hosts.sh as root. The last line is "N of N: named right
# and gone in time".
#   tests/chaos/hangs.sh [--times N] [--hosts N] [--ranks N] [--faults "stop kill link"] [--limit DURATION] [--seed N]
#                        [--program FILE]
#   --times N       number of faults; default 100
#   --ranks N       ranks of each host; default 2
#   --hosts N       default 2; 1: no namespaces, and no link (--faults "stop kill")
#   --limit D       --hang-limit of the training; default 10s
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

times=100
hosts=2
ranks=2
faults="stop link"
limit=10s
own_value() {
  case $1 in
    --hosts) hosts=$2 ;;
    --ranks) ranks=$2 ;;
    --faults) faults=$2 ;;
    --limit) limit=$2 ;;
    *) return 1 ;;
  esac
}
read_options "$@"
read -r -a kinds <<<"$faults"
((hosts > 1)) || [[ $faults != *link* ]] || die 2 "a single host has no link: --faults 'stop kill'"
mark=HANGS_MARK=$$-$seed
starter=
clean_up() {
  if [[ -n $starter ]]; then kill "$starter" 2>/dev/null || true; fi
  for process in $(its_ranks); do kill -9 "$process" 2>/dev/null || true; done
}
make_work

# Prints the processes of the ranks.
its_ranks() {
  local process
  for process in $(marked_processes "$mark"); do
    if [[ $(cat "/proc/$process/comm" 2>/dev/null) == lockstep ]]; then printf '%s ' "$process"; fi
  done
}
rank_of() { tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'; }
is_named() { grep -q "^lockstep: error: $named" "$work/error"; }
are_gone() { [[ -z $(its_ranks) ]]; }
steps_begun() { [[ $(its_ranks | wc -w) -eq $((hosts * ranks)) ]] && grep -q "epoch 1/" "$work/output"; }

right=0
for ((run = 1; run <= times; ++run)); do
  kind=${kinds[RANDOM % ${#kinds[@]}]}
  command=("$program" train --dataset synthetic --synthetic-shape 1x28x28 --samples 512 --epochs 1000000 --threads 1
    --device cpu --hang-limit "$limit" --run-dir "$work/run-$run")
  : >"$work/output"
  if ((hosts > 1)); then
    env "$mark" "$root/bench/hosts.sh" --hosts "$hosts" --ranks "$ranks" --program "$program" -- env "$mark" "${command[@]}" \
      >"$work/output" 2>"$work/error" &
  else
    env "$mark" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none \
      -np "$ranks" "${command[@]}" >"$work/output" 2>"$work/error" &
  fi
  starter=$!
  began=$(now)
  within 60 steps_begun || { cat "$work/error" >&2 && die 1 "no start"; }
  sleep "$((RANDOM % 2)).$((RANDOM % 10))"
  read -r -a processes <<<"$(its_ranks)"
  victim=${processes[RANDOM % ${#processes[@]}]}
  rank=$(rank_of "$victim")
  began=$(now)
  case $kind in
    stop)
      named="rank $rank on host .* stopped "
      # A stopped rank that is alone on its host looks like a stopped host.
      if ((hosts > 1 && ranks == 1)); then named="nothing was heard from host host-.* (rank $rank) "; fi
      limits=(15 20)
      kill -STOP "$victim"
      ;;
    kill)
      named="rank $rank on host .*(process $victim) "
      limits=(5 5)
      kill -KILL "$victim"
      ;;
    link)
      host=$((RANDOM % (hosts - 1) + 1)) # not that of mpirun
      named="nothing was heard from host host-$host "
      limits=(15 20)
      ip -n "hosts$starter-$host" link set eth0 down
      ;;
  esac
  if within "${limits[0]}" is_named && found=$took && within "${limits[1]}" are_gone; then
    ((++right))
    printf '%d: %s: named after %d ms, gone after %d ms\n' "$run" "$kind" "$found" "$took"
  else
    printf '%d: %s of rank %s: WRONG\n' "$run" "$kind" "$rank"
    cat "$work/error"
  fi
  for process in $(its_ranks); do kill -9 "$process" 2>/dev/null || true; done
  kill "$starter" 2>/dev/null || true
  wait "$starter" || true
  starter=
done
printf '%d of %d: named right and gone in time\n' "$right" "$times"
((right == times))
