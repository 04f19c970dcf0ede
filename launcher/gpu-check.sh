#!/usr/bin/env bash
# Checks and measures lockstep on a machine with a GPU, from an unpacked bundle or a source tree with a build. Needs bash,
# coreutils, awk, grep, sed and tar; PyTorch, ncu, nsys and compute-sanitizer are used where they are. After each stage,
# the folder of results and the archive are complete: gpu-check.json, gpu-check.md to read, and a log of each command.
#   launcher/gpu-check.sh [--part 1|2] [--output DIR] [--archive FILE] [--data-dir DIR] [--only STAGE,...] [--rehearse]
#   --part 1|2      one half of the stages, in less than 9 minutes; the second continues the record in --output
#   --output DIR    folder of the results; default gpu-check-HOST
#   --archive FILE  all results in one file; default DIR.tar.gz
#   --data-dir DIR  folder of Fashion-MNIST
#   --only STAGES   some of: machine doctor smoke headline profile tests digests errors
#                   torch losses accuracy sanitizers bench ops allreduce; most need that smoke has run
#   --rehearse      tiny networks and few steps, to try the check itself on the program of $LOCKSTEP
# GPU_CHECK_LIMIT: seconds after which the check has ended; default 530 with --part, else 1060.
# GPU_CHECK_CASE_LIMIT: seconds after which any single command is ended, if its own limit is higher.
# The exit status is 0 if no stage failed, 4 if no step could be made on a GPU, else 1.
set -euo pipefail
export LC_ALL=C  # for numbers with a point
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
root=$(dirname "$here")

fail() {
  echo "gpu-check.sh: $*" >&2
  exit 2
}

part=
output=gpu-check-$(uname -n)
archive=
data_dir=
only=
rehearse=
while (($# > 0)); do
  case $1 in
    -h | --help) sed -n '2,17s/^# \{0,1\}//p' "$0" && exit 0 ;;
    --rehearse) rehearse=yes && shift && continue ;;
    --part | --output | --archive | --data-dir | --only) ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
  (($# > 1)) || fail "$1 needs a value"
  case $1 in
    --part) part=$2 ;;
    --output) output=$2 ;;
    --archive) archive=$2 ;;
    --data-dir) data_dir=$2 ;;
    --only) only=,$2, ;;
  esac
  shift 2
done

# The second call knows what works on the machine from the record of the first one, or tries again.
part_1=(machine doctor smoke headline profile tests digests errors)
part_2=(torch losses accuracy sanitizers bench ops allreduce)
case $part in
  1) stages=("${part_1[@]}") ;;
  2) stages=(machine smoke "${part_2[@]}") ;;
  '') stages=("${part_1[@]}" "${part_2[@]}") ;;
  *) fail "--part $part: 1 or 2 is wanted" ;;
esac
# The longest that a stage may take, in seconds.
declare -A limits=([machine]=20 [doctor]=45 [smoke]=180 [headline]=150 [profile]=130 [tests]=240 [digests]=100 [errors]=60
  [torch]=300 [losses]=60 [accuracy]=120 [sanitizers]=130 [bench]=150 [ops]=60 [allreduce]=40)
for name in $(tr ',' ' ' <<<"$only"); do
  [[ -v limits[$name] ]] || fail "--only $name: no stage of that name (see --help)"
done
whole_limit=${GPU_CHECK_LIMIT:-$([[ -n $part ]] && echo 530 || echo 1060)}
reserve=8     # seconds at the end, for the archive
least=4       # seconds that are worth a stage
SECONDS=0

first_executable() {
  local file
  for file in "$@"; do
    if [[ -x $file && ! -d $file ]]; then
      printf '%s\n' "$file"
      return
    fi
  done
}
builds=("$root/build/release" "$root/build/test")
export GPU_CHECK_LOCKSTEP=${LOCKSTEP:-$(first_executable "$root/bin/lockstep" "${builds[@]/%//lockstep}")}
export GPU_CHECK_RECORD=${LOCKSTEP_RECORD:-$(first_executable "$root/bin/lockstep-record" "${builds[@]/%//lockstep-record}")}
unset LOCKSTEP LOCKSTEP_RECORD
[[ -n $GPU_CHECK_LOCKSTEP && -n $GPU_CHECK_RECORD ]] ||
  fail "no program; build it: cmake --preset release && cmake --build --preset release"
GPU_CHECK_MPIRUN=$(first_executable "$root/bin/mpirun" "$(command -v mpirun || true)")
shopt -s nullglob
gpu_tests=("$root"/bin/*_gpu_test "$root"/build/{test,release}/tests/*_gpu_test)
GPU_CHECK_TESTS=$(IFS=:; echo "${gpu_tests[*]}")
for folder in "$root/data/fashion-mnist" /usr/share/datasets/fashion-mnist; do
  if [[ -z $data_dir && -d $folder ]]; then data_dir=$folder; fi
done
mkdir -p "$output/logs" || fail "cannot make the folder $output"
output=$(cd "$output" && pwd -P)
archive=${archive:-$output.tar.gz}
if [[ $archive != /* ]]; then archive=$PWD/$archive; fi
export GPU_CHECK_MPIRUN GPU_CHECK_TESTS GPU_CHECK_REHEARSE=$rehearse GPU_CHECK_DATA=$data_dir GPU_CHECK_OUTPUT=$output \
  GPU_CHECK_ROOT=$root GPU_CHECK_JSON=$output/gpu-check.json
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
# All ranks are of this host, where mpirun must not look for a program that starts them on others.
if [[ -z ${OMPI_MCA_plm:-}${SLURM_JOB_ID:-} ]] && ! command -v ssh rsh >/dev/null; then export OMPI_MCA_plm=isolated; fi

any_failed=
recorded() { "$GPU_CHECK_RECORD" "$GPU_CHECK_JSON" get "$1" || true; }
# Changes the record. The check goes on without it, since there are logs of all commands, too.
record() {
  "$GPU_CHECK_RECORD" "$GPU_CHECK_JSON" "$@" && return
  any_failed=yes
  echo "gpu-check.sh: not recorded: $*" >&2
}
# Replaces the archive as a whole, so that a killed check leaves the earlier one. Status 1 of tar: a file has changed
# while it was read.
pack() {
  local status=0
  tar -czf "$archive.tmp" --exclude "*.tar.gz*" -C "$(dirname "$output")" "$(basename "$output")" || status=$?
  ((status <= 1)) && mv "$archive.tmp" "$archive" || echo "gpu-check.sh: cannot write $archive" >&2
}
child=
interrupted() {
  trap - TERM INT
  if [[ -n $child ]]; then kill "$child" && wait "$child"; fi || true
  pack
  exit 143
}
trap interrupted TERM INT

# Runs a stage as a process group of its own, which is ended at the stage's limit; the stage ends its commands before.
run_stage() { # name
  local name=$1 seconds=${limits[$1]} left=$((whole_limit - reserve - SECONDS)) started=$SECONDS status=0 result=passed reason=
  record stage "$name"
  seconds=$((seconds < left ? seconds : left))
  if ((seconds < least)); then
    status=77 reason="no time left"
  else
    rm -f "$output/logs/reason"
    GPU_CHECK_DEADLINE=$((EPOCHSECONDS + seconds - 3)) \
      timeout -k 3 "$seconds" bash "$here/gpu-check/stage.sh" "$name" >"$output/logs/$name.log" 2>&1 </dev/null &
    child=$!
    wait "$child" || status=$?
    child=
    if [[ -s $output/logs/reason ]]; then reason=$(<"$output/logs/reason"); fi
  fi
  case $status in
    0) ;;
    77) result=skipped ;;
    124 | 137) result=failed reason=${reason:-"took more than its $seconds s"} ;;
    *) result=failed reason=${reason:-"ended with status $status: $(tail -n 1 "$output/logs/$name.log")"} ;;
  esac
  if [[ $result == failed ]]; then any_failed=yes; fi
  record end "$result" $((SECONDS - started)) "$reason"
  pack
  printf '%-10s %-8s %4d s  %s\n' "$name" "$result" $((SECONDS - started)) "$reason"
}

"$GPU_CHECK_RECORD" "$GPU_CHECK_JSON" begin "$here/gpu-check/targets.txt" || fail "cannot keep a record in $output"
for name in "${stages[@]}"; do
  [[ -z $only || $only == *,$name,* ]] || continue
  if [[ $name == smoke && $part == 2 && -n $(recorded cuda_graph) ]]; then continue; fi
  run_stage "$name"
  if [[ $(recorded cuda_graph) == off ]]; then export LOCKSTEP_CUDA_GRAPH=off; fi
done
rm -f "$output/logs/reason"
pack
echo "$output/gpu-check.md"
echo "$archive"
[[ $(recorded cuda_graph) != none ]] || exit 4
[[ -z $any_failed ]]
