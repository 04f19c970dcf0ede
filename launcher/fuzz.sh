#!/usr/bin/env bash
# Fuzzes every parser of files and configuration, with the address and undefined-behaviour sanitizers. An input that
# breaks one is kept in build/fuzz/findings/TARGET, and the exit status is then not 0.
#   launcher/fuzz.sh [SECONDS | --runs N] [PARSER...]   for each parser: 10 seconds, or N inputs; default: all parsers
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

limit=-max_total_time
if [[ ${1:-} == --runs ]]; then limit=-runs && shift; fi
number=${1:-10}
[[ $number =~ ^[1-9][0-9]*$ ]] ||
  die "'$number' is not a number; usage: launcher/fuzz.sh [SECONDS | --runs N] [PARSER...]"
targets=("${@:2}")
program=$root/build/asan/tests/fuzz/fuzz
for tool in clang++ ld.lld; do
  command -v "$tool" >/dev/null || die "$tool is missing; install the packages clang, libclang-rt-dev and lld"
done

# New inputs go to build/fuzz/corpus; the committed seeds do not change.
fuzz() {
  local target=$1 corpus=$root/build/fuzz/corpus/$1 findings=$root/build/fuzz/findings/$1
  mkdir -p "$corpus" "$findings" &&
    without_aslr "$program" "--parser=$target" "$limit=$number" -max_len=4096 \
      -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$findings/" "$corpus" \
      "$root/tests/fuzz/corpus/$target"
}

stage "fuzz-build" build_preset asan fuzz
if [[ ${#targets[@]} -eq 0 ]]; then
  parsers=$(without_aslr "$program" --parsers)
  mapfile -t targets <<<"$parsers"
fi

for target in "${targets[@]}"; do
  [[ -d $root/tests/fuzz/corpus/$target ]] ||
    die "there is no parser '$target', or it has no seeds in tests/fuzz/corpus/$target"
done

# Fuzzes as many parsers at once as there are processors.
status=0
running=0
for target in "${targets[@]}"; do
  if ((running == $(nproc))); then
    wait -n || status=1
    running=$((running - 1))
  fi
  stage "fuzz-$target" fuzz "$target" &
  running=$((running + 1))
done
for (( ; running > 0; running--)); do wait -n || status=1; done
[[ $status -eq 0 ]]
