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
    -h | --help) print_help && exit 0 ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
  shift
done
[[ $rounds =~ ^[1-9][0-9]*$ && $steps =~ ^[1-9][0-9]*$ ]] || fail "--rounds and --steps take a number"
prepare torch,numpy

ours() { # ranks threads option...
  on_ranks "$1" train --device cpu --epochs 2 --max-steps "$steps" --lr 0.2 --threads "${@:2}"
}
torch() {
  quietly "$work/log" "$python" bench/peers/torch_ddp.py --threads 2 --channels-last --epochs 1 \
    --max-steps $((steps / 8))
}
declare -A commands=([1x2]="ours 1 2" [1x2_equal]="ours 1 2 --shares equal" [2x1]="ours 2 1"
  [2x1_equal]="ours 2 1 --shares equal" [4x1]="ours 4 1" [torch]=torch)
declare -A labels=([1x2]="1 rank x 2 threads" [1x2_equal]="1 rank x 2 threads, \`--shares equal\`"
  [2x1]="2 ranks x 1 thread" [2x1_equal]="2 ranks x 1 thread, \`--shares equal\`" [4x1]="4 ranks x 1 thread"
  [torch]="PyTorch, 2 threads, channels_last")
programs=(1x2 1x2_equal 2x1 2x1_equal 4x1 torch)  # in the order of the table
measure() { # load_program
  ${commands[${1#*_}]} && speed "$work/log"
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
    echo "| ${labels[$program]} | $(cell idle "$program") | $(cell nice19 "$program") | $(cell nice0 "$program") |"
  done
}
table | tee "$work/table"
[[ $write == no ]] || write_table
