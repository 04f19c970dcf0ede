# shellcheck shell=bash
# To be sourced by scripts of tests, which define `say`.

# run_case FUNCTION FILE: runs it in a subshell, which its first failed command ends. Sets case_status; FILE gets stderr
# and the failed command. In a condition (`if run_case ...`), bash would ignore failed commands.
run_case() {
  set +e
  (set -eE && trap 'say "  line $LINENO: $BASH_COMMAND" >&2' ERR && "$1") 2>"$2"
  # shellcheck disable=SC2034  # for the caller
  case_status=$?
  set -e
}
