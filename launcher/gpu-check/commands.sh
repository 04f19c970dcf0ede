# How stages of gpu-check.sh run commands and keep what they find. A case is a command or a comparison that passes or
# fails; a figure is a number in the record.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables that the stages use; logs is stage.sh's

lockstep=$GPU_CHECK_LOCKSTEP
python=${PYTHON:-python3}
cases=0
failed=0
first_failure=

# Sizes. Synthetic images of the same shape suffice where accuracies do not matter.
small=lenet large=resnet18-d2l batch=256 images=60000 shape=1x28x28
steps_small=2000 steps_large=200 steps_events=20
doctor_options=()
if [[ -n $GPU_CHECK_REHEARSE ]]; then
  large=mlp:16 batch=8 images=64 shape=1x16x16 steps_small=2 steps_large=2 steps_events=2 GPU_CHECK_DATA=
  doctor_options=(--self-test=false)
fi
made_up=(--dataset synthetic --synthetic-shape "$shape" --samples "$images")
if [[ -n $GPU_CHECK_DATA ]]; then
  data=(--dataset fashion-mnist --data-dir "$GPU_CHECK_DATA")
  export FASHION_MNIST=$GPU_CHECK_DATA
else
  data=("${made_up[@]}")
fi
export LOCKSTEP_RUN_DIR=none

unrecorded=0
record() { "$GPU_CHECK_RECORD" "$GPU_CHECK_JSON" "$@" || unrecorded=$((unrecorded + 1)); }
recorded() { "$GPU_CHECK_RECORD" "$GPU_CHECK_JSON" get "$1"; }
fact() { record fact "$1" "$2"; } # name value
# Records a figure, unless the value is empty because there was none in a log.
figure() { # name value [unit]
  if [[ -z $2 ]]; then
    echo "no figure $1"
  else
    echo "figure $1 $2 ${3:-}"
    record figure "$@"
  fi
}
because() { printf '%s' "$*" >"$GPU_CHECK_OUTPUT/logs/reason"; }
# Ends the stage, which has nothing to do.
skip() { # reason
  because "$*"
  exit 77
}

# Runs a command, and ends it after so many seconds, or at the end of the stage.
limited() { # seconds command...
  local seconds=$1 left=$((GPU_CHECK_DEADLINE - EPOCHSECONDS)) status=0
  shift
  seconds=$((seconds < left ? seconds : left))
  if ((seconds > ${GPU_CHECK_CASE_LIMIT:-seconds})); then seconds=$GPU_CHECK_CASE_LIMIT; fi
  ((seconds > 0)) || return 124
  timeout -k 2 "$seconds" "$@" &
  child=$!
  wait "$child" || status=$?
  child=
  return "$status"
}

log_of() { printf '%s/%s.log\n' "$logs" "${1//[^A-Za-z0-9.-]/_}"; } # case
# Prints why a command failed: what ended it, the program's error, the failed tests, or the last line.
why() { # status log
  case $1 in
    124 | 137) echo "took too long" ;;
    13[0-9] | 14[0-9]) echo "ended by signal $(kill -l $(($1 - 128)))" ;;
    *) { grep -h 'error: ' "$2" || grep -h '^\[  FAILED  \]' "$2" || grep -h . "$2" || echo "no output"; } | tail -n 1 | cut -c -300 ;;
  esac
}
# Records a case. An empty reason means that it passed.
verdict() { # case seconds reason
  cases=$((cases + 1))
  printf '%-50s %s s  %s\n' "$1" "$2" "${3:-passed}"
  if [[ -z $3 ]]; then
    record case "$1" passed "$2"
  else
    failed=$((failed + 1))
    first_failure=${first_failure:-"$1: $3"}
    record case "$1" failed "$2" "$3"
  fi
}
not_run() { record case "$1" skipped 0 "$2"; } # case reason
# Runs a command with its output in $log. Sets $took to its seconds, and $reason to why it failed. Returns its status.
logged() { # case seconds command...
  local name=$1 seconds=$2 status=0 began=$EPOCHREALTIME
  shift 2
  log=$(log_of "$name")
  printf '$ %s\n' "$*" >"$log"
  limited "$seconds" "$@" >>"$log" 2>&1 || status=$?
  took=$(awk "BEGIN {printf \"%.2f\", $EPOCHREALTIME - $began}") reason=
  if ((status != 0)); then reason=$(why "$status" "$log"); fi
  return "$status"
}
# Runs a command as a case. Returns its status.
attempt() { # case seconds command...
  local status=0
  logged "$@" || status=$?
  verdict "$1" "$took" "$reason"
  return "$status"
}
# Runs a tool that may be missing, or forbidden to look at the GPU, which is no failure. Returns its status.
attempt_by_tool() { # case seconds tool argument...
  command -v "$3" >/dev/null || return 127
  if logged "$@"; then
    verdict "$1" "$took" ''
  else
    not_run "$1" "$reason" && return 1
  fi
}
# Runs lockstep on ranks of this host as a case.
attempt_on_ranks() { # case seconds ranks arguments...
  local name=$1 seconds=$2 number=$3
  shift 3
  if [[ -z $GPU_CHECK_MPIRUN ]]; then
    not_run "$name" "no mpirun"
    return 1
  fi
  attempt "$name" "$seconds" "$GPU_CHECK_MPIRUN" --quiet --oversubscribe --bind-to none -np "$number" "$lockstep" "$@"
}

# --- what works, as the stage smoke found ---

need_gpu() {
  case $(recorded cuda_graph) in
    on | off) ;;
    none) skip "no step could be made on a GPU" ;;
    *) skip "the stage smoke has not run" ;;
  esac
}
works() { [[ " $(recorded works) " == *" $1/$2/$3 "* ]]; } # model type on|off
# Makes the following commands use CUDA graphs if they work with this model and type. Returns 1 if nothing does.
use() { # model type
  local graph
  for graph in on off; do
    if works "$1" "$2" "$graph"; then
      export LOCKSTEP_CUDA_GRAPH=$graph
      return
    fi
  done
  return 1
}
number_of_gpus() { recorded gpus | awk '$1 > 0 {n = $1} END {print n ? n : 1}'; }

# --- what a log says ---

digest_of() { sed -n 's/^digest \(xxh3:[0-9a-f]*\).*/\1/p' "$1"; }
# Prints the last field-th word of the lines that begin with a word.
word_of() { awk -v first="$2" -v field="$3" '$1 == first {value = $field} END {print value}' "$1"; } # log first field
speed_of() { sed -n 's|^\(.* \)\{0,1\}\([0-9.]*\) img/s$|\2|p' "$1" | tail -n 1; }
calculate() { awk "BEGIN {printf \"%.4g\", $1}"; }
median() { sort -n | awk '{v[NR] = $1} END {if (NR) print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2)}'; }
