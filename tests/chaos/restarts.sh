#!/usr/bin/env bash
# Kills a random rank of a training every minute, for 20 minutes, under `lockstep-run --max-restarts`, and prints what
# lockstep-run sums up. The exit status is 0 if at least 90 % of the time was useful.
#   tests/chaos/restarts.sh [--minutes N] [--every SECONDS] [--ranks N] [--share PERCENT] [--program FILE] [--seed N]
#     [-- options of lockstep train]
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
# The options after -- replace those of LeNet on synthetic images, with a checkpoint every 3 s.
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

work=$(mktemp -d)
started=
tear_down() {
  if [[ -n $started ]]; then kill -9 "$started" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap tear_down EXIT

children_of() { # process
  { cat /proc/[0-9]*/stat 2>/dev/null || true; } |
    awk -v parent="$1" '{ process = $1; sub(/.*\) /, ""); if ($2 == parent) print process }'
}

# Prints the ranks: lockstep-run has a guardian, which has mpirun, whose children they are.
ranks_of() { # process of lockstep-run
  local guardian mpirun
  guardian=$(children_of "$1" | sed -n 1p)
  mpirun=$([[ -z $guardian ]] || children_of "$guardian" | sed -n 1p)
  [[ -z $mpirun ]] || children_of "$mpirun"
}

"$launcher" -np "$ranks" --max-restarts 1000000 --min-ranks "$ranks" train --run-dir "$work/run" --quiet \
  "${options[@]}" >"$work/out" 2>"$work/err" </dev/null &
started=$!
end=$((SECONDS + 60 * minutes))
kills=0
while ((SECONDS + every < end)) && kill -0 "$started" 2>/dev/null; do
  sleep "$every"
  mapfile -t processes < <(ranks_of "$started")
  if [[ ${#processes[@]} -eq 0 ]]; then continue; fi
  kill -9 "${processes[RANDOM % ${#processes[@]}]}" 2>/dev/null || true
  kills=$((kills + 1))
done
while ((SECONDS < end)) && kill -0 "$started" 2>/dev/null; do sleep 1; done
kill -TERM "$started" 2>/dev/null || true
status=0
wait "$started" || status=$?
started=
if [[ $status -ne 75 ]]; then
  tail -n 40 "$work/err" >&2
  printf 'restarts.sh: the run ended with status %d, not 75\n' "$status" >&2
  exit 1
fi
summary=$(grep -o '[0-9]* restarts\?.*useful time.*' "$work/err" | tail -n 1)
printf '%d kills in %d minutes, one every %d s: %s\n' "$kills" "$minutes" "$every" "$summary"
useful=$(sed -n 's/.*useful time \([0-9]*\).*/\1/p' <<<"$summary")
[[ ${useful:-0} -ge $share ]]
