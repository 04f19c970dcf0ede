#!/usr/bin/env bash
# One stage of gpu-check.sh, which sets the environment: runs the function that has the stage's name. The exit status is
# 0 if all its cases passed, 77 if there was nothing to do, else 1; a reason is written to logs/reason.
set -uo pipefail
stage=$1
folder=$(dirname "${BASH_SOURCE[0]}")
logs=$GPU_CHECK_OUTPUT/logs/$stage
rm -rf "$logs" && mkdir -p "$logs"
child=
trap '[[ -z $child ]] || kill "$child"; exit 143' TERM
# shellcheck source=launcher/gpu-check/commands.sh
source "$folder/commands.sh"
# shellcheck source=launcher/gpu-check/machine.sh
source "$folder/machine.sh"
# shellcheck source=launcher/gpu-check/speed.sh
source "$folder/speed.sh"
# shellcheck source=launcher/gpu-check/results.sh
source "$folder/results.sh"

"stage_$stage"
if ((failed > 0)); then
  because "$failed of $cases failed, first $first_failure"
  exit 1
fi
if ((unrecorded > 0)); then
  because "$unrecorded entries could not be recorded; logs/$stage.log says why"
  exit 1
fi
((cases > 0)) || skip "nothing was run"
