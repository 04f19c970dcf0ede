#!/usr/bin/env bash
# Checks and measures lockstep on a machine with a GPU, from an unpacked bundle or a source tree with a build. Needs
# bash, coreutils, awk, grep, sed and tar; uses PyTorch, ncu and compute-sanitizer if installed. After each stage, the
# folder of results and the archive are complete so far: gpu-check.json, gpu-check.md to read, and all commands' logs.
#   launcher/gpu-check.sh [--part 1|2] [--output DIR] [--archive FILE] [--data-dir DIR] [--only STAGE,...] [--rehearse]
#   --part 1|2      half of the stages, in less than 9 minutes; part 2 continues the record of part 1 in --output
#   --output DIR    folder of the results; default gpu-check-HOST
#   --archive FILE  all results in one file; default DIR.tar.gz
#   --data-dir DIR  folder of Fashion-MNIST
#   --only STAGES   some of: machine doctor smoke headline profile tests digests errors
#                   torch losses accuracy sanitizers bench ops allreduce; most need smoke to have run
#   --rehearse      tiny networks and few steps, to try the check itself on the program of $LOCKSTEP
# GPU_CHECK_LIMIT: time limit of the whole check in seconds; default 530 with --part, else 1060.
# GPU_CHECK_CASE_LIMIT: upper bound in seconds for the time limit of each command.
# The exit status is 0 if no stage failed, 4 if no training step ran on a GPU, else 1.
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
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" && exit 0 ;;
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

# Part 2 takes from the record of part 1 what works on the machine, or tries again.
part_1=(machine doctor smoke headline profile tests digests errors)
part_2=(torch losses accuracy sanitizers bench ops allreduce)
case $part in
  1) stages=("${part_1[@]}") ;;
  2) stages=(machine smoke "${part_2[@]}") ;;
  '') stages=("${part_1[@]}" "${part_2[@]}") ;;
  *) fail "--part must be 1 or 2" ;;
esac
# Time limit of each stage, in seconds.
declare -A limits=([machine]=20 [doctor]=45 [smoke]=180 [headline]=150 [profile]=130 [tests]=240 [digests]=100 [errors]=60
  [torch]=300 [losses]=60 [accuracy]=120 [sanitizers]=130 [bench]=150 [ops]=60 [allreduce]=40)
for name in $(tr ',' ' ' <<<"$only"); do
  [[ -v limits[$name] ]] || fail "--only $name: no stage of that name (see --help)"
done
whole_limit=${GPU_CHECK_LIMIT:-$([[ -n $part ]] && echo 530 || echo 1060)}
reserve=8  # seconds at the end, for the archive
least=4    # with fewer seconds left, no stage begins
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
lockstep=${LOCKSTEP:-$(first_executable "$root"/{bin,build/release,build/test}/lockstep)}
unset LOCKSTEP
[[ -n $lockstep ]] || fail "no program; build it: cmake --preset release && cmake --build --preset release"
mpirun=$(first_executable "$root/bin/mpirun" "$(command -v mpirun || true)")
for folder in "$root/data/fashion-mnist" /usr/share/datasets/fashion-mnist; do
  if [[ -z $data_dir && -d $folder ]]; then data_dir=$folder; fi
done
mkdir -p "$output/logs" || fail "cannot make the folder $output"
output=$(cd "$output" && pwd -P)
archive=${archive:-$output.tar.gz}
if [[ $archive != /* ]]; then archive=$PWD/$archive; fi
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
# All ranks run on this host, so mpirun must not look for ssh or rsh.
if [[ -z ${OMPI_MCA_plm:-}${SLURM_JOB_ID:-} ]] && ! command -v ssh rsh >/dev/null; then export OMPI_MCA_plm=isolated; fi

# --- the record: gpu-check.tsv (record.awk has its lines), from which gpu-check.json and gpu-check.md are made ---

# Adds a line. If that fails, the check continues, because every command has a log, too.
record() {
  local line
  printf -v line '%s\t' "${@//[[:cntrl:]]/ }"
  line=${line%$'\t'}
  printf '%s\n' "${line//\\//}" >>"$output/gpu-check.tsv" || unrecorded=$((unrecorded + 1))
}
# Prints the value of a fact or a figure.
recorded() {
  awk -F '\t' -v name="$1" '($1 == "fact" || $1 == "figure") && $2 == name {value = $3} END {print value}' \
    "$output/gpu-check.tsv"
}
# Replaces a file by the output of a command, atomically: a killed check leaves the old file or the new one.
replace() { # file command...
  local file=$1
  shift
  if "$@" >"$file.tmp" && mv "$file.tmp" "$file"; then return; fi
  any_failed=yes
  echo "gpu-check.sh: cannot write $file" >&2
}
# Status 1 of tar only means that a file changed while it was read.
packed() { tar -czf - --exclude "*.tar.gz*" -C "$(dirname "$output")" "$(basename "$output")" || (($? == 1)); }
write_results() {
  local files=("$here/gpu-check/targets.txt" "$output/gpu-check.tsv")
  replace "$output/gpu-check.json" awk -v form=json -f "$here/gpu-check/record.awk" "${files[@]}"
  replace "$output/gpu-check.md" awk -f "$here/gpu-check/record.awk" "${files[@]}"
  replace "$archive" packed
}

# --- stages ---

any_failed=
unrecorded=0
child=
interrupted() {
  trap - TERM INT
  if [[ -n $child ]]; then kill "$child" && wait "$child"; fi || true
  write_results
  exit 143
}
trap interrupted TERM INT
# shellcheck source=launcher/gpu-check/stages.sh
source "$here/gpu-check/stages.sh"

# Runs a stage in a process of its own; a command that still runs at the time limit of the stage is ended.
run_stage() { # name
  local name=$1 left=$((whole_limit - reserve - SECONDS)) started=$SECONDS status=0 result=passed reason=
  record stage "$name"
  write_results
  local seconds=$((limits[$name] < left ? limits[$name] : left))
  if ((seconds < least)); then
    status=77 reason="no time left"
  else
    rm -f "$output/logs/reason"
    perform "$name" $((EPOCHSECONDS + seconds - 3)) >"$output/logs/$name.log" 2>&1 </dev/null &
    child=$!
    wait "$child" || status=$?
    child=
    if [[ -s $output/logs/reason ]]; then reason=$(<"$output/logs/reason"); fi
  fi
  case $status in
    0) ;;
    77) result=skipped ;;
    *) result=failed reason=${reason:-"ended with status $status: $(tail -n 1 "$output/logs/$name.log")"} ;;
  esac
  record end "$result" $((SECONDS - started)) "$reason"
  if [[ $result == failed ]] || ((unrecorded > 0)); then any_failed=yes; fi
  write_results
  printf '%-10s %-8s %4d s  %s\n' "$name" "$result" $((SECONDS - started)) "$reason"
}

record call "$(date -u +%FT%TZ)"
((unrecorded == 0)) || fail "cannot keep a record in $output"
for name in "${stages[@]}"; do
  [[ -z $only || $only == *,$name,* ]] || continue
  if [[ $name == smoke && $part == 2 && -n $(recorded cuda_graph) ]]; then continue; fi
  run_stage "$name"
  if [[ $(recorded cuda_graph) == off ]]; then export LOCKSTEP_CUDA_GRAPH=off; fi
done
rm -f "$output/logs/reason"
write_results
echo "$output/gpu-check.md"
echo "$archive"
[[ $(recorded cuda_graph) != none ]] || exit 4
[[ -z $any_failed ]]
