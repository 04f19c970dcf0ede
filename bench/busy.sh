#!/usr/bin/env bash
# Measures LeNet with lockstep and PyTorch on two cores of this machine while other programs use them, and prints a
# table: images/s, in brackets as a share of the idle machine's. --write also writes it to docs/performance.md.
#
#   PYTHON=venv/bin/python bench/busy.sh [--rounds N] [--steps N] [--write]
#
# The loads are: none; an endless loop of the lowest priority (nice 19); one of the usual priority (nice 0).
# --steps ends runs early. PYTHON needs bench/peers/requirements.txt. Use an otherwise idle machine with two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=bench/common.sh
source bench/common.sh

rounds=3
steps=470
write=no

while (($# > 0)); do
  case $1 in
    --rounds) rounds=${2:-} && shift ;;
    --steps) steps=${2:-} && shift ;;
    --write) write=yes ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
  shift
done
[[ $rounds =~ ^[1-9][0-9]*$ && $steps =~ ^[1-9][0-9]*$ ]] || fail "--rounds and --steps take a number"
prepare torch,numpy

ours() { # ranks threads option...
  local ranks=$1 threads=$2
  shift 2
  quietly "$work/log" mpirun --oversubscribe --bind-to none -np "$ranks" "$lockstep" train --device cpu --epochs 2 \
    --max-steps "$steps" --lr 0.2 --threads "$threads" "$@" && speed "$work/log"
}
measure() {
  case ${1#*_} in
    1x2) ours 1 2 ;;
    2x1) ours 2 1 ;;
    4x1) ours 4 1 ;;
    1x2_equal) ours 1 2 --shares equal ;;
    2x1_equal) ours 2 1 --shares equal ;;
    torch) quietly "$work/log" "$python" bench/peers/torch_ddp.py --threads 2 --channels-last --epochs 1 \
      --max-steps $((steps / 8)) && speed "$work/log" ;;
  esac
}

loop=
stop_loop() {
  if [[ -n $loop ]]; then
    kill "$loop"
    wait "$loop" 2>/dev/null || true
  fi
  loop=
}
trap 'stop_loop; rm -rf "$work"' EXIT
start_loop() { # load
  case $1 in
    nice19) nice -n 19 bash -c 'while :; do :; done' & ;;
    nice0) bash -c 'while :; do :; done' & ;;
    idle) return ;;
  esac
  loop=$!
}

programs=(1x2 1x2_equal 2x1 2x1_equal 4x1 torch)
loads=(idle nice19 nice0)
for ((round = 1; round <= rounds; ++round)); do
  for load in "${loads[@]}"; do
    start_loop "$load"
    measure_round "round $round" "${programs[@]/#/${load}_}"
    stop_loop
  done
done

cell() { # load program
  if [[ $1 == idle ]]; then
    median "idle_$2"
  else
    echo "$(median "$1_$2") ($(ratio "$1_$2" "idle_$2"))"
  fi
}
table() {
  conditions
  echo "| LeNet, batch 256, images/s | idle | loop at nice 19 | loop at nice 0 |"
  echo "|---|---|---|---|"
  local program
  for program in "${programs[@]}"; do
    local label
    case $program in
      1x2) label="1 rank x 2 threads" ;;
      2x1) label="2 ranks x 1 thread" ;;
      4x1) label="4 ranks x 1 thread" ;;
      1x2_equal) label="1 rank x 2 threads, \`--shares equal\`" ;;
      2x1_equal) label="2 ranks x 1 thread, \`--shares equal\`" ;;
      torch) label="PyTorch, 2 threads, channels_last" ;;
    esac
    echo "| $label | $(cell idle "$program") | $(cell nice19 "$program") | $(cell nice0 "$program") |"
  done
}
table | tee "$work/table"
[[ $write == no ]] || write_table
