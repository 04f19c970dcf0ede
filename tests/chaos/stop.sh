#!/usr/bin/env bash
# Sends a signal to a random rank, to all ranks or to mpirun at random instants of trainings: during start-up, steps and
# evaluations, some of which take longer than 10 s. Checks that all ends with status 75 and one line that says why. The
# last line is "N of N: status 75; the longest took T s".
#   tests/chaos/stop.sh [--times N] [--limit SECONDS] [--program FILE] [--seed N]
#   --times N       number of signals; default 100
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
#   --limit SECONDS  a longer stop counts as failed; default 10, for an idle machine
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

times=100
limit=10
own_value() { [[ $1 == --limit ]] && limit=$2; }
read_options "$@"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_odls_base_sigkill_timeout=1
make_work

# Networks: short steps with an evaluation every 0.1 s; a long evaluation; a long step.
kinds=("--model mlp:8 --synthetic-shape 1x28x28 --samples 3200"
  "--model resnet18 --synthetic-shape 3x64x64 --samples 4000 --max-steps 4"
  "--model resnet50 --synthetic-shape 3x224x224 --samples 256")

# Whether a process handles SIGTERM yet; before, the default action of the signal ends it.
handles() {
  local caught
  caught=$(awk '/^SigCgt/ { print $2 }' "/proc/$1/status" 2>/dev/null) && [[ -n $caught ]] && ((16#$caught >> 14 & 1))
}

passed=0
longest=0
for ((run = 1; run <= times; run++)); do
  ranks=$((RANDOM % 4 + 1))
  kind=$((RANDOM % ${#kinds[@]}))
  # shellcheck disable=SC2086  # a list of words
  mpirun --quiet --oversubscribe --bind-to none -np "$ranks" "$program" train --dataset synthetic --device cpu \
    --epochs 1000000 --batch-size 64 --micro-batches 4 --lr 0 --threads 1 ${kinds[kind]} --quiet --run-dir "$work/$run" \
    >"$work/out" 2>"$work/err" &
  started=$!
  processes=()
  while [[ ${#processes[@]} -lt $ranks ]]; do mapfile -t processes < <(pgrep -P "$started" -x lockstep || true); done
  for process in "${processes[@]}"; do until handles "$process"; do :; done; done
  sleep "$((RANDOM % 6)).$((RANDOM % 1000 + 1000))"  # the instant of the signal
  signal=$(printf 'TERM\nINT\nUSR1\n' | sed -n "$((RANDOM % 3 + 1))p")
  case $((RANDOM % 3)) in
    0) targets=("${processes[RANDOM % ranks]}") ;;
    1) targets=("${processes[@]}") ;;
    2) targets=("$started") signal=USR1 ;;
  esac
  began=$(now)
  missed=0
  kill "-$signal" "${targets[@]}" 2>/dev/null || missed=1
  status=0
  wait "$started" || status=$?
  if ((missed || status == 0)); then  # it had ended before the signal
    rm -rf "${work:?}/$run"
    run=$((run - 1))
    continue
  fi
  took=$(($(now) - began))
  lines=$(grep -c '^lockstep: stopped by ' "$work/err" || true)
  if [[ $status -eq 75 && $lines -eq 1 && $took -le $((limit * 1000)) ]]; then
    passed=$((passed + 1))
  else
    printf 'run %d, kind %d, %d ranks, SIG%s to %d processes: status %d, %d lines, %d ms\n' "$run" "$kind" "$ranks" \
      "$signal" "${#targets[@]}" "$status" "$lines" "$took"
    cat "$work/err"
  fi
  if ((took > longest)); then longest=$took; fi
  rm -rf "${work:?}/$run"
done
printf '%d of %d: status 75; the longest took %d.%d s\n' "$passed" "$times" $((longest / 1000)) $((longest % 1000 / 100))
[[ $passed -eq $times ]]
