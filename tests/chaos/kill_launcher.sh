#!/usr/bin/env bash
# Kills lockstep-run, its guardian or mpirun with SIGKILL at random instants of short trainings, and checks that after
# 5 s no process of the training and no file in the temporary folder or in /dev/shm is left. The last line is
# "N of N: no process and no file left".
#   tests/chaos/kill_launcher.sh [--times N] [--ranks N] [--program FILE] [--seed N]
#   --times N       number of kills; default 100
#   --ranks N       default 3
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
set -euo pipefail
# shellcheck source=tests/chaos/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

times=100
ranks=3
own_value() { [[ $1 == --ranks ]] && ranks=$2; }
read_options "$@"

# Everything that a training starts has this mark in its environment, and this temporary folder.
mark=KILL_LAUNCHER_MARK=$$-$seed
make_work

child_of() { pgrep -P "$1" | head -n 1 || true; } # process

files_of() { # job: prints its files in /dev/shm
  local name
  for name in /dev/shm/lockstep-*"${1:-none}"*; do
    if [[ -e $name ]]; then printf '%s ' "$name"; fi
  done
}

left() { # job: prints what is left of it
  marked_processes "$mark"
  find "$TMPDIR" -mindepth 1 2>/dev/null
  files_of "$1"
}
is_clean() {
  rest=$(left "$job_name")
  [[ -z $rest ]]
}

clean=0
for ((run = 1; run <= times; run++)); do
  env "$mark" "$launcher" -np "$ranks" train --dataset synthetic --samples 4096 --model mlp:16 --epochs 100000 \
    --run-dir "$work/run-$run" --quiet >/dev/null 2>&1 &
  started=$!
  disown "$started"  # bash would print how it ended
  delay=$((RANDOM % 1500))
  sleep "$((delay / 1000)).$(printf '%03d' $((delay % 1000)))"
  guardian=$(child_of "$started")
  mpirun=$([[ -z $guardian ]] || child_of "$guardian")
  victims=("$started" "$mpirun" "$guardian")
  names=(lockstep-run mpirun guardian)
  choice=$((RANDOM % 3))
  if [[ -z ${victims[choice]} ]]; then choice=0; fi
  job_name=$(tr '\0' '\n' 2>/dev/null <"/proc/${mpirun:-none}/environ" | sed -n 's/^LOCKSTEP_JOB=//p') || job_name=
  kill -9 "${victims[choice]}" 2>/dev/null || true
  began=$(now)
  if within 5 is_clean; then
    clean=$((clean + 1))
  else
    printf 'run %d, seed %d: %s killed after %d ms: left: %s\n' "$run" "$seed" "${names[choice]}" "$delay" "$rest"
    for process in $(marked_processes "$mark"); do kill -9 "$process" 2>/dev/null || true; done
    # shellcheck disable=SC2046  # a list
    rm -rf "$TMPDIR" $(files_of "$job_name") && mkdir "$TMPDIR"
  fi
done
printf '%d of %d: no process and no file left\n' "$clean" "$times"
[[ $clean -eq $times ]]
