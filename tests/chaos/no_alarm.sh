#!/usr/bin/env bash
# Trains without a fault, with twice as many threads as the machine has cores beside other programs that take all of
# them, for the given time, and checks that the watchdog never speaks. The last line is "N alarms in M minutes".
#   tests/chaos/no_alarm.sh [--minutes N] [--program FILE]
#   --minutes N     default 60
#   --program FILE  default build/release/lockstep
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

minutes=60
program=build/release/lockstep
while (($# > 0)); do
  case $1 in
    --minutes) minutes=$2 ;;
    --program) program=$2 ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) printf 'no_alarm.sh: error: unknown option %s\n' "$1" >&2 && exit 2 ;;
  esac
  shift 2
done
[[ -x $program ]] || { printf 'no_alarm.sh: error: no program %s\n' "$program" >&2 && exit 4; }
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
cores=$(nproc)
work=$(mktemp -d)
others=()
trap 'kill "${others[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
for ((i = 0; i < cores; ++i)); do
  while :; do :; done &
  others+=($!)
done

alarms=0
end=$((SECONDS + 60 * minutes))
run=0
while ((SECONDS < end)); do
  # In turn: a rank per core, and one more thread than cores on fewer ranks; steps short and long.
  ranks=$((run % 2 == 0 ? cores : cores > 1 ? cores - 1 : 2))
  model=$((run % 4 < 2 ? 0 : 1))
  ((++run))
  timeout -s KILL $((end - SECONDS + 60)) mpirun --oversubscribe --bind-to none -np $((ranks > 1 ? ranks : 2)) \
    "$program" train --dataset synthetic --synthetic-shape 3x32x32 --samples 2048 --epochs 1000000 --device cpu \
    --model "$([[ $model == 0 ]] && echo mlp || echo resnet20)" --threads 2 --run-dir "$work/run-$run" --quiet \
    --max-time "$((end - SECONDS < 300 ? end - SECONDS : 300))s" >"$work/output" 2>"$work/error" || true
  if grep -q "state of all ranks" "$work/error"; then
    ((++alarms))
    cat "$work/error"
  fi
done
printf '%d alarms in %d minutes\n' "$alarms" "$minutes"
((alarms == 0))
