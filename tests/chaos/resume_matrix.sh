#!/usr/bin/env bash
# Stops short trainings at a random step with SIGUSR1 (status 75), resumes them on another number of ranks, and compares
# digest, epoch lines, metrics.jsonl and final.safetensors with those of the untouched run: every optimizer x average of
# the parameters x early stopping x drop-last x mixup x sum of the gradients, in random order. With the sum `ring`, whose
# bits depend on the number of ranks, that number stays. The last line is "N of N end as the untouched run".
#   tests/chaos/resume_matrix.sh [--times N] [--program FILE] [--seed N]
#   --times N       number of the 128 combinations; default all
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

times=128
read_options "$@"
((times <= 128)) || die 2 "--times: there are 128 combinations"
make_work

optimizers=("sgd --lr 0.1 --momentum 0.9" "adamw --lr 0.002" "lars --lr 1 --momentum 0.9" "lamb --lr 0.01")
mapfile -t combinations < <(for optimizer in "${optimizers[@]}"; do
  printf -- "--optimizer $optimizer %s\n" {,"--model-ema --model-ema-decay 0.9"}" "{,"--early-stopping 2"}" "{,--drop-last}"\
 "{,"--mixup 0.2"}" "--reduce\ {canonical,ring}
done | shuf --random-source=<(yes "$seed"))

# Trains without a stop, then with a stop after about STEPS steps, and compares the two runs. Sets `problem`: empty if
# they agree, "too late" if the run ended before it could be stopped.
check() { # RANKS RANKS_AFTER STEPS ARGUMENT...
  local before=$1 after=$2 steps=$3 whole=$work/whole part=$work/part
  shift 3
  rm -rf "$whole" "$whole".* "$part" "$part".*
  training "$whole" "$@"
  begin "$before" "$whole"
  finish
  problem="untouched run: status $status"
  if [[ $status -ne 0 ]]; then return; fi
  training "$part" "$@"
  begin "$before" "$part"
  stop_after "$steps" "$part"
  problem="too late"
  if [[ $status -eq 0 ]]; then return; fi
  problem="stopped run: status $status"
  if [[ $status -ne 75 ]]; then return; fi
  command=(train --resume "$part" --threads 1)  # other options come from the run
  begin "$after" "$part"
  finish
  problem="resumed run: status $status"
  if [[ $status -eq 0 ]]; then problem=$(differences "$whole" "$part"); fi
}

for ((run = 0; run < times; run++)); do
  read -ra arguments <<<"${combinations[run]}"
  ranks=$((RANDOM % 4 + 1))
  after=$(((ranks + RANDOM % 3) % 4 + 1))
  if [[ ${combinations[run]} == *ring ]]; then
    ranks=$((RANDOM % 3 + 2))
    after=$ranks
  fi
  steps=$((RANDOM % 80 + 1))
  for ((; ; steps = steps / 2)); do
    check $ranks $after $steps --samples 1500 --epochs 4 "${arguments[@]}"
    if [[ $problem != "too late" || $steps -le 1 ]]; then break; fi
  done
  if [[ -n $problem ]]; then
    fail "seed $seed: ${combinations[run]}: $ranks ranks, then $after from step $steps: $problem" "$work/part"
    mkdir -p "$work/failed-$run" && cp -r "$work"/{whole,part}* "$work/failed-$run/"
  fi
done
conclude "$times" "end as the untouched run"
