#!/usr/bin/env bash
# Trains without a fault, with twice as many threads as the machine has cores beside other programs that take all of
# them, for the given time, and checks that the watchdog never speaks and that no rank is called slow. The last line is
# "N alarms in M minutes".
#   tests/chaos/no_alarm.sh [--minutes N] [--program FILE]
#   --minutes N     default 60
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

minutes=60
own_value() { [[ $1 == --minutes ]] && minutes=$2; }
read_options "$@"
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
cores=$(nproc)
others=()
clean_up() { kill "${others[@]}" 2>/dev/null || true; }
make_work
for ((i = 0; i < cores; ++i)); do
  while :; do :; done &
  others+=($!)
done

alarms=0
end=$((SECONDS + 60 * minutes))
run=0
while ((SECONDS < end)); do
  # Alternates between a rank per core, and one more thread than cores on fewer ranks, with short and long steps.
  ranks=$((run % 2 == 0 ? cores : cores > 1 ? cores - 1 : 2))
  model=$((run % 4 < 2 ? 0 : 1))
  ((++run))
  timeout -s KILL $((end - SECONDS + 60)) mpirun --oversubscribe --bind-to none -np $((ranks > 1 ? ranks : 2)) \
    "$program" train --dataset synthetic --synthetic-shape 3x32x32 --samples 2048 --epochs 1000000 --device cpu \
    --model "$([[ $model == 0 ]] && echo mlp || echo resnet20)" --threads 2 --run-dir "$work/run-$run" --quiet \
    --max-time "$((end - SECONDS < 300 ? end - SECONDS : 300))s" >"$work/output" 2>"$work/error" || true
  if grep -q -e "state of all ranks" -e "times as long per sample as the median" "$work/error"; then
    ((++alarms))
    cat "$work/error"
  fi
done
printf '%d alarms in %d minutes\n' "$alarms" "$minutes"
((alarms == 0))
