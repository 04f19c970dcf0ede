#!/usr/bin/env bash
# Stops a training in mid-epoch again and again and resumes it on other numbers of ranks (4 -> 2 -> 3 -> 1 -> 4), and, as
# root, of hosts (two -> one -> three, network namespaces of this machine). Digest, epoch lines, metrics.jsonl and
# final.safetensors must be those of the untouched run on one rank. The last line is "N of N end as the untouched run".
#   tests/chaos/resize.sh [--times N] [--no-hosts] [--program FILE] [--seed N]
#   --times N       number of times for ranks, and for hosts; default 5
#   --no-hosts      ranks of this machine only; needs no root
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

times=5
hosts=yes
own_option() { [[ $1 == --no-hosts ]] && hosts=no; }
read_options "$@"
[[ $hosts == no || $EUID -eq 0 ]] || die 2 "must run as root to make network namespaces, or with --no-hosts"
make_work

per_epoch=64
epochs=4
recipe=(--samples 4096 --epochs "$epochs" --optimizer adamw --lr 0.002 --mixup 0.2 --model-ema --model-ema-decay 0.9
  --clip-grad 1 --resume auto)

# begin_on PLACES LOG: starts `command` on "4 ranks", or with a rank on each of "2 hosts".
begin_on() {
  if [[ $1 == *ranks ]]; then
    begin "${1% ranks}" "$2"
  else
    "$root/bench/hosts.sh" --hosts "${1% hosts}" --program "$program" -- "$program" "${command[@]}" \
      >>"$2.out" 2>>"$2.err" </dev/null &
    job=$!
  fi
}

# stop_rank_after STEPS RUN: like stop_after, but signals only one rank, on the first host.
stop_rank_after() {
  local ranks=()
  while kill -0 "$job" 2>/dev/null && (($(steps_of "$2") < $1)); do
    if ((${#ranks[@]} == 0)); then mapfile -t ranks < <(ranks_of "$job"); fi
    sleep 0.01
  done
  if ((${#ranks[@]} > 0)); then kill -USR1 "${ranks[0]}" 2>/dev/null || true; fi
  finish
}

# check RUN PLACES...: trains on each of the places in turn, with a stop and a resume between two of them. Sets `stops`
# to the steps of the stops, and `problem`. On a busy machine a stop may come too late, at the end of the run or of an
# epoch: `problem` is then "too late".
check() {
  local run=$1 last steps part=0 of=$(($# - 1)) places
  shift
  stops=
  rm -rf "$run" "$run".*
  training "$run" "${recipe[@]}"
  for places in "$@"; do
    part=$((part + 1))
    begin_on "$places" "$run"
    if ((part == of)); then break; fi
    steps=$((epochs * per_epoch * part / of - 16 + RANDOM % 8))
    if [[ $places == *ranks ]]; then stop_after "$steps" "$run"; else stop_rank_after "$steps" "$run"; fi
    problem="on $places, to be stopped at step $steps: status $status"
    if [[ $status -eq 0 ]]; then problem="too late"; fi
    if [[ $status -ne 75 ]]; then return; fi
    last=$(steps_of "$run")
    problem="too late"
    if ((last % per_epoch == 0)); then return; fi
    stops+=" $last"
  done
  finish
  problem="on ${*: -1}: status $status"
  if [[ $status -eq 0 ]]; then problem=$(differences "$work/whole" "$run"); fi
}

train_untouched 1 "${recipe[@]}"

total=0
for ((run = 1; run <= times; run++)); do
  for kind in ranks hosts; do
    places=("4 ranks" "2 ranks" "3 ranks" "1 ranks" "4 ranks")
    if [[ $kind == hosts ]]; then places=("2 hosts" "1 hosts" "3 hosts"); fi
    if [[ $kind == hosts && $hosts == no ]]; then continue; fi
    total=$((total + 1))
    log=$work/$kind-$run
    for attempt in 1 2 3; do
      check "$log" "${places[@]}"
      if [[ $problem != "too late" ]]; then break; fi
    done
    if [[ -z $problem ]]; then
      say "$kind: resized at steps$stops"
      rm -rf "$log" "$log".*
    else
      fail "seed $seed: $kind: $problem (attempt $attempt)" "$log"
    fi
  done
done
conclude "$total" "end as the untouched run"
