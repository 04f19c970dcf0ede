#!/usr/bin/env bash
# Runs a worker's pod: sshd, through which mpirun starts ranks. When the pod is asked to end (SIGTERM: preemption, a node
# that is drained, a deleted job), asks its ranks to stop. All ranks of the run then write a checkpoint, and end with
# status 75. sshd is stopped last, since Open MPI's daemon must report to mpirun that the ranks have ended.
set -euo pipefail

# running NAME...: prints the numbers of the processes with these names.
running() {
  local process name
  for process in /proc/[0-9]*; do
    read -r name 2>/dev/null <"$process/comm" || continue
    if [[ " $* " == *" $name "* ]]; then printf '%s ' "${process#/proc/}"; fi
  done
}

# orted may start a rank after the signal, so new ranks are asked until none is left, each of them once.
stop() {
  local asked=' ' rank
  trap '' TERM
  while [[ -n $(running lockstep orted) ]]; do
    for rank in $(running lockstep); do
      [[ $asked != *" $rank "* ]] || continue
      kill -TERM "$rank" 2>/dev/null || true
      asked+="$rank "
    done
    sleep 0.2
  done
  kill "$sshd" 2>/dev/null || true
  exit 75
}

trap stop TERM
/usr/sbin/sshd -D -e -f /etc/ssh/lockstep_sshd_config &
sshd=$!
wait "$sshd"
