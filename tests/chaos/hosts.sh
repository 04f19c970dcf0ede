#!/usr/bin/env bash
# Trains on two and three hosts, and breaks their network, processes, disk or clock at a random instant.
# Checks that lockstep names it within 20 s, that within another 20 s no process is left on any host, and that the run
# then resumes, on any number of the hosts, to the result of an untouched one: digest, epoch lines, metrics.jsonl and
# final.safetensors. Hosts are namespaces of this machine with an sshd each (virtual_hosts.sh); runs as root. The last
# line is "N of N named in time and end as the untouched run"; the status is 77 if no such hosts can be made here.
#   tests/chaos/hosts.sh [--faults "FAULT..."] [--times N] [--seed N] [--program FILE]
#   --times N       of each fault; default 20
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
#   --faults LIST   default: all of
#     link       the link of a host goes down
#     gone       all processes of a host are killed at once
#     partition  some hosts cannot reach the others: for at most 4 s, which no run may notice, or for longer
#     slow       a link has 4 Mbit/s left: the run continues, with a warning
#     disk       the file system of the run is full: no checkpoint is written until there is room again
#     memory     /dev/shm and the temporary folder of a host are full when the run starts
#     clock      the clock of a host is an hour early or late: the run continues, with a warning. Needs libfaketime
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/chaos/virtual_hosts.sh
source "$(dirname "${BASH_SOURCE[0]}")/virtual_hosts.sh"

times=20
faults="link gone partition slow disk memory clock"
own_value() { [[ $1 == --faults ]] && faults=$2; }
read_options "$@"
for fault in $faults; do
  [[ " link gone partition slow disk memory clock " == *" $fault "* ]] || die 2 "unknown fault '$fault' (see --help)"
done
reason=$(why_no_hosts)
faketime=$(compgen -G "/usr/lib/*/faketime/libfaketime.so.1") || true
if [[ -z $reason && -z $faketime && " $faults " == *" clock "* ]]; then
  reason="no libfaketime; apt-get install libfaketime, or leave clock out of --faults"
fi
if [[ -n $reason ]]; then
  say "skipped: $reason"
  exit 77
fi
clean_up() {
  end_hosts
  umount "$work/disk" 2>/dev/null || true
}
make_work
trap 'exit 143' TERM
trap 'exit 130' INT

limit=20  # seconds
total=3   # hosts
recipe=(--samples 4096 --epochs 6 --optimizer adamw --lr 0.002 --mixup 0.2 --clip-grad 1 --resume auto)
random() { echo $(($1 + RANDOM % ($2 - $1 + 1))); } # FIRST LAST

# ---- runs

# begin_on "HOST..." LOG [RANKS]: starts `command` on these hosts, with RANKS (1) on each, and sets `job`.
begin_on() {
  local places
  # shellcheck disable=SC2086  # a list of words
  places=$(printf ",host-%s:${3:-1}" $1)
  on_host "${1%% *}" "$launcher" --hosts "${places#,}" "${command[@]}" >>"$2.out" 2>>"$2.err" </dev/null &
  job=$!
}
runs() { kill -0 "$job" 2>/dev/null; }

# await_steps STEPS RUN: fails if the run ends before.
await_steps() {
  local end=$((SECONDS + 60))
  while (($(steps_of "$2") < $1)); do
    runs && ((SECONDS < end)) || return 1
    sleep 0.01
  done
}

# await NAME COMMAND...: waits at most `limit` until the command succeeds, and adds the time to `history`; otherwise
# sets `problem`.
await() {
  began=$(now)
  within "$limit" "${@:2}" || { problem="not $1 within $limit s" && return 1; }
  history+=", $1 after $(awk "BEGIN { printf \"%.1f\", $took / 1000 }") s"
}
named=
is_named() { grep -qE "^lockstep(-run)?: $named" "$log.err"; }
are_gone() {
  local i
  for ((i = 0; i < total; i++)); do [[ -z $(processes_on $i) ]] || return 1; done
}
# ends_named: the run names the fault, and ends on all hosts with an error.
ends_named() {
  await named is_named && await gone are_gone || return
  finish
  if [[ $status -eq 0 || $status -eq 75 ]]; then problem="status $status after the fault" && return 1; fi
}
# stop SIGNAL: sends it to lockstep-run.
stop() { kill "-$1" "$(pgrep -P "$job")"; }

# ---- faults: each acts on a run that has made some steps on `places`, the first of which runs lockstep-run. It fails
# and sets `problem` if something is wrong. The run may still train afterwards; check waits for it.

# choose_victim [WORDS]: sets `victim` to a host that is not the first. Adds it to `history`, with these words.
choose_victim() {
  victim=${places[$(random 1 $((${#places[@]} - 1)))]}
  history+="host-$victim${1:-}"
}

link_fault() {
  choose_victim
  link "$victim" down
  named="error: nothing was heard from host host-$victim"
  ends_named || return
  link "$victim" up
}

gone_fault() {
  choose_victim
  lose_host "$victim"
  named="error: .*host-$victim"
  ends_named || return
  start_host "$victim"
}

partition_fault() {
  local seconds cut=("${places[@]:$(random 1 $((${#places[@]} - 1)))}")
  seconds=$(random 1 4)
  if ((RANDOM % 2)); then seconds=$(random 20 30); fi
  history+="host-${cut[*]} for $seconds s"
  partition "${cut[@]}"
  if ((seconds < 10)); then
    sleep "$seconds"  # the fault
    heal
    named="(error|warning): .*host-"
    finish
    if is_named; then problem="noticed a partition of $seconds s" && return 1; fi
    return
  fi
  named="error: nothing was heard from host host-${cut[0]}"
  ends_named || return
  heal
}

slow_fault() {
  choose_victim
  limit_rate "$victim" 4mbit
  named="warning: .*host-$victim"
  await named is_named || true
  unlimit_rate "$victim"
  [[ -z $problem ]]
}

# The run directory is on a file system that all hosts have.
disk_before() {
  mkdir "$work/disk/run"
  ln -s "$work/disk/run" "$log"
}
disk_fault() {
  head -c 1G /dev/zero >"$work/disk/filler" 2>/dev/null || true
  named="warning: no checkpoint of step [0-9]*: .*No space left on device"
  await named is_named
  rm "$work/disk/filler"
  [[ -z $problem ]] || return
  finish
}
disk_after() {
  rm -rf "$work/disk"/*
}

memory_before() {
  choose_victim ", "
  needed_steps=0
  for folder in /dev/shm "$work/tmp-$victim"; do
    in_mounts_of "$victim" mount -t tmpfs -o size=4k full "$folder"
    in_mounts_of "$victim" bash -c "head -c 4k /dev/zero >$folder/filler"
  done
}
memory_fault() {
  named="error: .*host-$victim"
  ends_named || return
  for folder in /dev/shm "$work/tmp-$victim"; do in_mounts_of "$victim" umount "$folder"; done
}

clock_before() {
  local hour=+3600
  if ((RANDOM % 2)); then hour=-3600; fi
  choose_victim " by $hour s, "
  lose_host "$victim"
  start_host "$victim" "LD_PRELOAD=$faketime" FAKETIME_DONT_FAKE_MONOTONIC=1 "FAKETIME=$hour"
}
clock_fault() {
  named="warning: host host-$victim has a clock that is 3[56][0-9]* s"
  await named is_named || return
  finish
  if [[ $status -ne 0 ]]; then problem="status $status with another clock" && return 1; fi
}
clock_after() {
  lose_host "$victim"
  start_host "$victim"
}

# ---- main

# check FAULT RUN: sets `problem`; "too late" if the run ended before the fault.
check() {
  local order
  log=$2
  history=
  problem=
  rm -rf "$log" "$log".*
  training "$log" "${recipe[@]}"
  mapfile -t order < <(shuf -i 0-$((total - 1)) --random-source=<(yes "$RANDOM"))
  places=("${order[@]:0:$(random 2 $total)}")
  history="on ${#places[@]} hosts from host-${places[0]}: "
  needed_steps=$(random 20 250)
  optional before
  begin_on "${places[*]}" "$log"
  if ! await_steps "$needed_steps" "$log"; then
    finish
    problem="too late"
    if [[ $status -ne 0 ]]; then problem="status $status before the fault"; fi
    return
  fi
  history+="step $(steps_of "$log"), "
  "${1}_fault" || return 0
  if [[ -n $job ]]; then finish; fi
  fault_status=$status
  if [[ $fault_status -ne 0 ]]; then
    places=("${order[@]:$(random 0 $((total - 1)))}")
    history+=", resumed on ${#places[@]} hosts from host-${places[0]}"
    begin_on "${places[*]}" "$log"
    finish
    if [[ $status -ne 0 ]]; then problem="resumed: status $status" && return; fi
  fi
  problem=$(differences "$work/whole" "$log")
}
# optional NAME: calls the function ${fault}_NAME, if it exists.
optional() { if declare -F "${fault}_$1" >/dev/null; then "${fault}_$1"; fi; }

# Makes the hosts as new after a failure.
renew_hosts() {
  local i
  if [[ -n $job ]]; then kill -KILL "$job" 2>/dev/null || true; fi
  job=
  for ((i = 0; i < total; i++)); do
    link "$i" up
    lose_host "$i"
    start_host "$i"
  done
  heal
}

train_untouched 1 "${recipe[@]}"
mkdir "$work/disk"
mount -t tmpfs -o size=64m disk "$work/disk"
make_hosts "$total"
all=0
for ((run = 1; run <= times; run++)); do
  for fault in $faults; do
    all=$((all + 1))
    for attempt in 1 2 3; do
      check "$fault" "$work/$fault-$run"
      optional after
      [[ $problem == "too late" ]] || break
    done
    if [[ -z $problem ]]; then
      say "$fault $run: $history"
      rm -rf "$log" "$log".*
    else
      fail "$fault $run (attempt $attempt), seed $seed: $history: $problem" "$log"
      renew_hosts
    fi
  done
done
conclude "$all" "named in time and end as the untouched run"
