# Functions for the scripts in this folder that train, and stop, kill or resume. To be sourced.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
launcher=$root/build/release/lockstep-run
program=
times=
seed=$$
work=

say() { printf '%s\n' "$*"; }

die() { # status, message
  printf '%s: error: %s\n' "$(basename "$0")" "$2" >&2
  exit "$1"
}

# read_options ARGUMENT...: the options that all these scripts have: --times N, in scripts that set `times`; --seed N;
# --program FILE, which sets `launcher` (lockstep-run) and `program` (lockstep, beside it); --help. A script may define
# own_option NAME, which returns 0 for a switch of its own, and own_value NAME VALUE, for an option with a value.
read_options() {
  local option
  while [[ $# -gt 0 ]]; do
    option=$1
    shift
    case $option in
      -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" && exit 0 ;;
      *) ! own_option "$option" || continue ;;
    esac
    case $option in
      --program) launcher=${1:-} ;;
      --seed) seed=${1:-} ;;
      --times)
        [[ -n $times ]] || die 2 "unknown option --times (see --help)"
        times=${1:-}
        ;;
      *) own_value "$option" "${1:-}" || die 2 "unknown option $option (see --help)" ;;
    esac
    [[ $# -gt 0 ]] || die 2 "$option needs a value"
    shift
  done
  [[ -z $times || $times =~ ^[1-9][0-9]*$ ]] || die 2 "--times takes a number from 1, not '$times'"
  [[ $seed =~ ^[0-9]+$ ]] || die 2 "--seed takes a number, not '$seed'"
  [[ -x $launcher ]] || die 4 "no program $launcher; build it: cmake --preset release && cmake --build --preset release"
  launcher=$(readlink -f "$launcher")
  # shellcheck disable=SC2034  # for scripts
  program=$(dirname "$launcher")/lockstep
  RANDOM=$((seed % 32768))
}
own_option() { return 1; }
own_value() { return 1; }

now() { date +%s%3N; } # milliseconds
# within SECONDS COMMAND...: retries COMMAND until it succeeds; fails SECONDS after `began`. Sets `took` to the
# milliseconds from `began` to the success.
began=
took=
within() {
  local last=$((began + $1 * 1000))
  shift
  until "$@"; do
    (($(now) <= last)) || return 1
    sleep 0.05
  done
  # shellcheck disable=SC2034  # for scripts
  took=$(($(now) - began))
}

# Makes a folder for runs, which is removed at the end if nothing failed, and enters it. At the end, a script's own
# clean_up comes first.
make_work() {
  work=$(mktemp -d)
  trap end_work EXIT
  export TMPDIR=$work/tmp
  mkdir "$TMPDIR"
  cd "$work" || die 1 "cannot enter $work"  # the watchdog reports here on ranks that are killed early
}
failed=0
job=
clean_up() { :; }
end_work() {
  local status=$?
  clean_up
  if [[ -n $job ]]; then
    kill -TERM "$job" 2>/dev/null || true
    wait "$job" || true
  fi
  if ((failed > 0)); then say "runs: $work"; else rm -rf "$work"; fi
  exit "$status"
}

# training RUN ARGUMENT...: sets `command` to a run of a few seconds on 1 to 4 ranks that begins a checkpoint as soon as
# the previous one is written.
training() {
  local run=$1
  shift
  command=(train --device cpu --threads 1 --dataset synthetic --synthetic-shape "1x28x28" --model lenet
    --batch-size 64 --micro-batches 4 --checkpoint-every 1 --run-dir "$run" "$@")
}

# begin RANKS LOG: starts `command` and sets `job`. Output is added to LOG.out and LOG.err.
begin() {
  "$launcher" -np "$1" --bind-to none "${command[@]}" >>"$2.out" 2>>"$2.err" </dev/null &
  job=$!
}

# Waits for the end of `job` and sets `status`; 124: it ran for longer than two minutes.
status=
finish() {
  local deadline=$((SECONDS + 120))
  while kill -0 "$job" 2>/dev/null && ((SECONDS < deadline)); do sleep 0.05; done
  if kill -0 "$job" 2>/dev/null; then
    kill -TERM "$job"
    wait "$job" || true
    status=124
  else
    status=0
    wait "$job" || status=$?
  fi
  job=
}

# train_untouched RANKS ARGUMENT...: trains without interruption in $work/whole, for comparisons.
train_untouched() {
  training "$work/whole" "${@:2}"
  begin "$1" "$work/whole"
  finish
  [[ $status -eq 0 ]] || die 1 "the untouched run ended with status $status: $(tail -n 1 "$work/whole.err")"
}

# Prints the processes whose environment has this variable; zombies have no environment.
marked_processes() { grep -lzxF "$1" /proc/[0-9]*/environ 2>/dev/null | grep -o '[0-9]*' || true; } # NAME=VALUE

# Prints the processes called `lockstep` below a process, in no order.
ranks_of() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v root="$1" '
    { process = $1; name = $0; sub(/^[^(]*\(/, "", name); sub(/\)[^)]*$/, "", name)
      rest = $0; sub(/.*\) /, "", rest); split(rest, field, " ")
      parent[process] = field[2]; if (name == "lockstep" && field[1] != "Z") rank[process] = 1 }
    END { for (process in rank) {
      for (above = process; above in parent && above != root; above = parent[above]) {}
      if (above == root) print process } }'
}

# Prints the epoch lines of a log without times, sorted. A line may be printed once more after a resume.
epoch_lines() { sed -n 's/^\(epoch .*\)  [0-9.]* s  [0-9]* img\/s$/\1/p' "$1.out" | sort -u; }

# Prints the record of a run without times and without events about checkpoints and slow ranks.
record() {
  sed -E '/"event":"(checkpoint|straggler)"/d; s/,"(seconds|images_per_second|load_seconds)":[^,}]*//g' "$1/metrics.jsonl"
}

# Prints the last digest of a log.
digest() { sed -n 's/^digest //p' "$1.out" | tail -n 1; }

# differences WHOLE PART: compares a run and its log (PATH and PATH.out) with those of the untouched run, and prints what
# differs.
differences() {
  [[ $(digest "$2") == "$(digest "$1")" ]] || say "digest $(digest "$2"), not $(digest "$1")"
  [[ $(epoch_lines "$2") == "$(epoch_lines "$1")" ]] ||
    diff <(epoch_lines "$1") <(epoch_lines "$2") | sed -n 's/^[<>]/epoch lines: &/p'
  [[ $(record "$2") == "$(record "$1")" ]] ||
    diff <(record "$1") <(record "$2") | sed -n 's/^[<>]/metrics.jsonl: &/p' | head -n 5
  cmp -s "$1/checkpoints/final.safetensors" "$2/checkpoints/final.safetensors" || say "final.safetensors differs"
}

# Number of steps in the record of a run.
steps_of() {
  local steps
  steps=$(grep -cs '"event":"step"' "$1/metrics.jsonl") || true
  say "${steps:-0}"
}

# stop_after STEPS RUN: asks `job` to stop when RUN has this many steps in its record, and sets `status`: 75, or 0 if
# the job ended earlier.
stop_after() {
  while kill -0 "$job" 2>/dev/null && (($(steps_of "$2") < $1)); do sleep 0.01; done
  kill -USR1 "$job" 2>/dev/null || true
  finish
}

fail() { # what, log
  failed=$((failed + 1))
  say "FAILED: $1"
  say "  command: $launcher -np N ${command[*]}"
  tail -n 8 "$2.err" | sed 's/^/  | /'
}

# conclude RUNS WORDS: prints the last line; fails if a run has failed.
conclude() {
  say "$(($1 - failed)) of $1 $2"
  ((failed == 0))
}
