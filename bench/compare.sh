#!/usr/bin/env bash
# Measures LeNet with lockstep and PyTorch on this machine, in turn, in several rounds, and prints a table of medians
# and ratios. --write also writes the table to docs/performance.md.
#
#   PYTHON=venv/bin/python bench/compare.sh [--rounds N] [--torch-steps N] [--quick] [--write]
#
# --torch-steps ends PyTorch's epochs early, to save time; --quick is one round of 40 such steps. PYTHON needs the
# packages of bench/peers/requirements.txt. Use an idle machine with two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=bench/common.sh
source bench/common.sh

rounds=3
torch_steps=0
quick=no
write=no

while (($# > 0)); do
  case $1 in
    --rounds) rounds=${2:-} && shift ;;
    --torch-steps) torch_steps=${2:-} && shift ;;
    --quick) quick=yes rounds=1 torch_steps=40 ;;
    --write) write=yes ;;
    -h | --help) print_help && exit 0 ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
  shift
done
[[ $rounds =~ ^[1-9][0-9]*$ && $torch_steps =~ ^[0-9]+$ ]] || fail "--rounds and --torch-steps take a number"
[[ $quick == no || $write == no ]] || fail "--quick is not accurate enough for --write"
prepare torch,numpy

# Trains two epochs, the first one as warm-up. Drops the short last batch, as PyTorch's program does.
ours() { # ranks threads
  on_ranks "$1" train --epochs 2 --lr 0.2 --drop-last --threads "$2" && speed "$work/log"
}
torch_alone() {
  quietly "$work/log" "$python" bench/peers/torch_ddp.py --threads 2 --epochs 2 --max-steps "$torch_steps" "$@" &&
    speed "$work/log"
}
ddp_rank() { # rank port
  OMP_NUM_THREADS=1 WORLD_SIZE=2 RANK=$1 LOCAL_RANK=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$2 \
    quietly "$work/ddp.$1" "$python" bench/peers/torch_ddp.py --channels-last --epochs 2 --max-steps "$torch_steps"
}
torch_ddp() {
  local port=$((20000 + RANDOM % 20000)) other
  ddp_rank 1 "$port" &
  other=$!
  ddp_rank 0 "$port" && wait "$other" && speed "$work/ddp.0"
}

names=(ours_2x1 ours_1x1 ours_1x2 torch_ddp torch_eager torch_eager_cl torch_compiled_cl)
declare -A commands=([ours_2x1]="ours 2 1" [ours_1x1]="ours 1 1" [ours_1x2]="ours 1 2" [torch_ddp]=torch_ddp
  [torch_eager]=torch_alone [torch_eager_cl]="torch_alone --channels-last"
  [torch_compiled_cl]="torch_alone --channels-last --compile")
measure() { ${commands[$1]}; } # name
for ((round = 1; round <= rounds; ++round)); do
  measure_round "round $round" "${names[@]}"
  on_ranks 2 bench allreduce
  awk '$1 == 46137344 {print $6}' "$work/log" >>"$work/reduce"
  on_ranks 2 bench step --threads 1 --steps 20
  awk '/^first step/ {print $3}' "$work/log" >>"$work/first_step"
  awk '/^memory/ {print $2}' "$work/log" >>"$work/memory"
  start=$(date +%s%N)
  "$python" -c 'import torch'
  echo $((($(date +%s%N) - start) / 1000000)) >>"$work/import_torch"
  add_best torch_best torch_ddp torch_eager torch_eager_cl torch_compiled_cl
done

table() {
  conditions
  echo "| LeNet f32, batch 256, $rounds rounds | images/s |"
  echo "|---|---|"
  echo "| lockstep, 2 ranks x 1 thread | $(median ours_2x1) |"
  echo "| lockstep, 1 rank x 2 threads | $(median ours_1x2) |"
  echo "| lockstep, 1 rank x 1 thread | $(median ours_1x1) |"
  echo "| PyTorch DDP, gloo, 2 ranks, channels_last | $(median torch_ddp) |"
  echo "| PyTorch, 2 threads, eager | $(median torch_eager) |"
  echo "| PyTorch, 2 threads, eager, channels_last | $(median torch_eager_cl) |"
  echo "| PyTorch, 2 threads, compiled, channels_last | $(median torch_compiled_cl) |"
  echo
  echo "| figure | measured | goal |"
  echo "|---|---|---|"
  echo "| 2 ranks to PyTorch DDP | $(ratio ours_2x1 torch_ddp) | 3.5 |"
  echo "| 2 ranks to PyTorch's best | $(ratio ours_2x1 torch_best) | 2.0 |"
  echo "| 2 ranks to 1 rank x 1 thread | $(ratio ours_2x1 ours_1x1) | 1.9 |"
  echo "| 1 rank x 2 threads to 2 ranks | $(ratio ours_1x2 ours_2x1) | 0.95 |"
  echo "| canonical sum of 44 MB to MPI_Allreduce, 2 ranks | $(median reduce %.2f) | 3 |"
  echo "| first step after the start of a rank, data decompressed, ms | $(median first_step) | 500 |"
  echo "| memory of a rank at most, MB | $(median memory) | 150 |"
  echo "| \`import torch\`, ms | $(median import_torch) | |"
}
table | tee "$work/table"

[[ $write == no ]] || write_table
