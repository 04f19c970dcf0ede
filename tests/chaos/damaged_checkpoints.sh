#!/usr/bin/env bash
# Long versions of the tests of checkpoints, about 20 minutes on two cores: crashes of a simulated machine, 1,000,000
# flipped bits, each of which must be found, and 10,000,000 inputs for each reader of a checkpoint's files. Prints one
# line for each; the exit status is 0 if all passed. The self-test has short versions of all of them.
#   tests/chaos/damaged_checkpoints.sh [BITS [CRASHES [INPUTS]]]   CRASHES: before each call of the file system
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../launcher/common.sh"

bits=${1:-1000000}
crashes=${2:-400}
inputs=${3:-10000000}
program=$root/build/test/tests/run_test

status=0
stage "build" build_preset test run_test || exit 1
stage "truncations of every file" "$program" --gtest_filter='*EveryTruncation*' || status=1
stage "flips of $bits bits, one by one" \
  env TEST_BIT_FLIPS="$bits" "$program" --gtest_filter='*EveryFlippedBitIsFound' || status=1
stage "crashes ($crashes before each call)" \
  env TEST_CRASHES="$crashes" "$program" --gtest_filter='CheckpointFaults.ACrashLeaves*' || status=1
say "fuzzing of each reader with $inputs inputs:"
"$launcher/fuzz.sh" --runs "$inputs" safetensors state manifest || status=1
[[ $status -eq 0 ]]
