# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # variables of the script and for it
# Runs the cases of a test script, which sources this file and sets `cases`, the names of functions, and `work`, a
# folder.

say() { printf '%s\n' "$*"; }
die() { # STATUS MESSAGE
  printf 'run.sh: error: %s\n' "$2" >&2
  exit "$1"
}
skip() {
  say "skipped: $*"
  exit 77
}
# wrong MESSAGE: prints what is not as expected, and ends the case.
wrong() {
  say "  $*" >&2
  exit 1
}
# equal WHAT ACTUAL EXPECTED
equal() { [[ $2 == "$3" ]] || wrong "$1: $2 instead of $3"; }
# await SECONDS COMMAND...: waits until the command succeeds. The script's `state` prints the state if it never does.
await() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || wrong "in vain: $* ($(state))"
    sleep 0.1  # between two questions
  done
}

# choose_cases OPTION ARGUMENT...: sets `chosen` to the cases among the arguments of the script, and `value` to the value
# of its only option, or "". Handles --help and --list.
choose_cases() {
  local option=$1
  chosen=() value=
  while shift && (($# > 0)); do
    case $1 in
      -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" && exit 0 ;;
      --list) printf '%s\n' "${cases[@]}" && exit 0 ;;
      "$option")
        [[ -n ${2-} ]] || die 2 "$option needs a value"
        value=$2 && shift
        ;;
      -*) die 2 "unknown option $1 (see --help)" ;;
      *)
        [[ " ${cases[*]} " == *" $1 "* ]] || die 2 "no case $1 (see --list)"
        chosen+=("$1")
        ;;
    esac
  done
}

# run_case FUNCTION FILE: runs the function in a subshell, which ends at the first command that fails. Sets case_status;
# writes stderr and the command that failed to FILE. In a condition (`if run_case ...`), bash would ignore failed
# commands.
run_case() {
  set +e
  (set -eE && trap 'say "  line $LINENO: $BASH_COMMAND" >&2' ERR && "$1") 2>"$2"
  case_status=$?
  set -e
}

# run_cases: runs the chosen cases, by default all, and the script's `after_case NAME` after each. Prints their times.
run_cases() {
  local name started passed=0
  ((${#chosen[@]} > 0)) || chosen=("${cases[@]}")
  for name in "${chosen[@]}"; do
    started=$SECONDS
    printf '%-28s' "$name"
    run_case "$name" "$work/$name.err"
    if ((case_status == 0)); then
      passed=$((passed + 1))
      printf '%4d s\n' $((SECONDS - started))
    else
      printf '%4d s  FAILED\n' $((SECONDS - started))
      cat "$work/$name.err"
    fi
    after_case "$name"
  done
  say "$passed of ${#chosen[@]} passed"
  ((passed == ${#chosen[@]}))
}
