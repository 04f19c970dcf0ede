#!/usr/bin/env bash
# Kills a random rank of a short training with SIGKILL at a random instant, up to three times, resumes each time on a
# random number of ranks, 1 to 4, and compares digest, epoch lines, metrics.jsonl and final.safetensors with those of
# the untouched run. The next checkpoint begins as soon as the previous one is written, so one is being written most of
# the time. The last line is "N of N end as the untouched run".
#   tests/chaos/kill_and_resume.sh [--times N] [--program FILE] [--seed N]
#   --times N       default 200
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

times=200
read_options "$@"
make_work

recipe=(--samples 1500 --epochs 4 --optimizer adamw --lr 0.002 --mixup 0.2 --model-ema --model-ema-decay 0.9
  --clip-grad 1 --resume auto)
began=$(now)
train_untouched 2 "${recipe[@]}"
milliseconds=$(($(now) - began))

kills=0
early=0
torn=0
for ((run = 1; run <= times; run++)); do
  log=$work/$run
  training "$log" "${recipe[@]}"
  planned=$((RANDOM % 3 + 1))
  killed=0
  part=
  history=
  for ((attempt = 1; ; attempt++)); do
    ranks=$((RANDOM % 4 + 1))
    history+=" $ranks ranks"
    begin $ranks "$log"
    if ((killed < planned)); then
      delay=$((RANDOM % milliseconds))
      sleep "$((delay / 1000)).$(printf '%03d' $((delay % 1000)))"
      mapfile -t victims < <(ranks_of "$job")
      if ((${#victims[@]} > 0)) && kill -9 "${victims[RANDOM % ${#victims[@]}]}" 2>/dev/null; then
        killed=$((killed + 1))
        history+=" (killed after $delay ms)"
        if [[ ! -d $log/checkpoints ]]; then early=$((early + 1)); fi
      fi
    fi
    finish
    if [[ $status -eq 124 ]]; then break; fi
    before=$part
    part=$(compgen -G "$log/checkpoints/.step-*.tmp") || true
    if [[ -n $part && $part != "$before" ]]; then torn=$((torn + 1)); fi
    if [[ $status -eq 0 && $killed -eq 0 ]]; then  # too late for the first kill
      rm -rf "$log" "$log".*
      history=
    elif [[ $status -eq 0 || $attempt -ge 20 ]]; then
      break
    fi
  done
  kills=$((kills + killed))
  problem=
  if [[ $status -ne 0 ]]; then problem="status $status"; else problem=$(differences "$work/whole" "$log"); fi
  if [[ -z $problem ]]; then
    rm -rf "$log" "$log".*
  else
    fail "run $run, seed $seed:$history: $problem" "$log"
  fi
done
say "$kills kills: $early before the first checkpoint's folder, $torn left a part of a checkpoint"
conclude "$times" "end as the untouched run"
