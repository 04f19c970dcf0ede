#!/usr/bin/env bash
# Kills a random rank of a training every minute, for 20 minutes, under `lockstep-run --max-restarts`, and prints the
# summary of lockstep-run. The exit status is 0 if at least 90 % of the time was useful.
#   tests/chaos/restarts.sh [--minutes N] [--every SECONDS] [--ranks N] [--share PERCENT] [--program FILE] [--seed N]
#     [-- options of lockstep train]
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
# The options after -- replace the default, LeNet on synthetic images with a checkpoint every 3 s.
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

minutes=20
every=60
ranks=2
share=90
options=(--dataset synthetic --synthetic-shape 1x28x28 --samples 60000 --epochs 1000000 --checkpoint-every 3s)
own_value() {
  case $1 in
    --minutes) minutes=$2 ;;
    --every) every=$2 ;;
    --ranks) ranks=$2 ;;
    --share) share=$2 ;;
    *) return 1 ;;
  esac
}
for ((i = 1; i <= $#; i++)); do
  if [[ ${!i} == -- ]]; then
    options=("${@:i+1}")
    set -- "${@:1:i-1}"
  fi
done
read_options "$@"

make_work
command=(--max-restarts 1000000 --min-ranks "$ranks" train --run-dir "$work/run" --quiet "${options[@]}")
begin "$ranks" "$work/log"
end=$((SECONDS + 60 * minutes))
kills=0
while ((SECONDS + every < end)) && kill -0 "$job" 2>/dev/null; do
  sleep "$every"
  mapfile -t processes < <(ranks_of "$job")
  if [[ ${#processes[@]} -eq 0 ]]; then continue; fi
  kill -9 "${processes[RANDOM % ${#processes[@]}]}" 2>/dev/null || true
  kills=$((kills + 1))
done
while ((SECONDS < end)) && kill -0 "$job" 2>/dev/null; do sleep 1; done
kill -TERM "$job" 2>/dev/null || true
finish
if [[ $status -ne 75 ]]; then
  tail -n 40 "$work/log.err" >&2
  die 1 "the run ended with status $status, not 75"
fi
summary=$(grep -o '[0-9]* restarts\?.*useful time.*' "$work/log.err" | tail -n 1)
printf '%d kills in %d minutes, one every %d s: %s\n' "$kills" "$minutes" "$every" "$summary"
useful=$(sed -n 's/.*useful time \([0-9]*\).*/\1/p' <<<"$summary")
[[ ${useful:-0} -ge $share ]]
