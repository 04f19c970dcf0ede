#!/usr/bin/env bash
# Measures lockstep beside PyTorch on this machine, in turn, several rounds, and prints the ratios of the medians
# as a table. --write also puts the table into docs/performance.md.
#
#   PYTHON=venv/bin/python bench/compare.sh [--rounds N] [--torch-steps N] [--quick] [--write]
#
# --torch-steps ends PyTorch's epochs early, to save time. PYTHON needs bench/peers/requirements.txt. Use an idle
# machine with two cores: anything else that runs is measured too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lockstep=${LOCKSTEP:-build/release/lockstep}
python=${PYTHON:-python3}
rounds=3
torch_steps=0
write=no

while (($# > 0)); do
  case $1 in
    --rounds) rounds=$2; shift ;;
    --quick) rounds=1; torch_steps=40 ;;
    --torch-steps) torch_steps=$2; shift ;;
    --write) write=yes ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "compare.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done

if [[ ! -x $lockstep ]]; then
  echo "compare.sh: $lockstep is not there: cmake --preset release && cmake --build --preset release" >&2
  exit 2
fi
if ! "$python" -c 'import torch, numpy, safetensors' 2>/dev/null; then
  echo "compare.sh: $python has no PyTorch: $python -m pip install -r bench/peers/requirements.txt" >&2
  exit 2
fi
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# images/s of the last epoch that a program printed
speed() { sed -n 's|.* \([0-9]*\) img/s$|\1|p' | tail -n 1; }

ours() { # ranks threads
  mpirun --oversubscribe --bind-to none -np "$1" "$lockstep" train --epochs 2 --lr 0.2 --threads "$2" 2>/dev/null | speed
}
torch_alone() { "$python" bench/peers/torch_ddp.py --threads 2 --epochs 2 --max-steps "$torch_steps" "$@" 2>/dev/null | speed; }
torch_ddp() {
  local port=$((20000 + RANDOM % 20000)) rank
  for rank in 1 0; do
    OMP_NUM_THREADS=1 WORLD_SIZE=2 RANK=$rank LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      "$python" bench/peers/torch_ddp.py --channels-last --epochs 2 --max-steps "$torch_steps" >"$work/ddp.$rank" 2>/dev/null &
  done
  wait
  speed <"$work/ddp.0"
}

declare -a names=(ours_2x1 ours_1x2 ours_1x1 torch_ddp torch_eager torch_eager_cl torch_compiled_cl)
measure() {
  case $1 in
    ours_2x1) ours 2 1 ;;
    ours_1x2) ours 1 2 ;;
    ours_1x1) ours 1 1 ;;
    torch_ddp) torch_ddp ;;
    torch_eager) torch_alone ;;
    torch_eager_cl) torch_alone --channels-last ;;
    torch_compiled_cl) torch_alone --channels-last --compile ;;
  esac
}
median() { sort -n "$work/$1" | awk '{v[NR]=$1} END {print NR % 2 ? v[(NR+1)/2] : (v[NR/2]+v[NR/2+1])/2}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }

for ((round = 1; round <= rounds; ++round)); do
  for name in "${names[@]}"; do
    measure "$name" >>"$work/$name"
    echo "round $round  $name  $(tail -n 1 "$work/$name") img/s" >&2
  done
  mpirun --oversubscribe --bind-to none -np 2 "$lockstep" bench allreduce | awk '$1 == 46137344 {print $6}' >>"$work/reduce"
  start=$(date +%s%N)
  "$lockstep" train --max-steps 1 --epochs 1 --threads 1 --quiet >/dev/null 2>&1
  echo $((($(date +%s%N) - start) / 1000000)) >>"$work/first_step"
  start=$(date +%s%N)
  "$python" -c 'import torch'
  echo $((($(date +%s%N) - start) / 1000000)) >>"$work/import_torch"
done

declare -A speed_of
for name in "${names[@]}"; do speed_of[$name]=$(median "$name"); done
best=${speed_of[torch_ddp]}
for name in torch_eager torch_eager_cl torch_compiled_cl; do
  awk -v a="${speed_of[$name]}" -v b="$best" 'BEGIN {exit !(a > b)}' && best=${speed_of[$name]}
done

table() {
  echo "$(date -u +%F), $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, PyTorch $("$python" -c 'import torch; print(torch.__version__)'), $(c++ --version | head -n 1); medians of $rounds rounds."
  echo
  echo "| LeNet f32, batch 256 | images/s |"
  echo "|---|---|"
  echo "| lockstep, 2 ranks x 1 thread | ${speed_of[ours_2x1]} |"
  echo "| lockstep, 1 rank x 2 threads | ${speed_of[ours_1x2]} |"
  echo "| lockstep, 1 rank x 1 thread | ${speed_of[ours_1x1]} |"
  echo "| PyTorch DDP, gloo, 2 ranks, channels_last | ${speed_of[torch_ddp]} |"
  echo "| PyTorch, 2 threads, eager | ${speed_of[torch_eager]} |"
  echo "| PyTorch, 2 threads, eager, channels_last | ${speed_of[torch_eager_cl]} |"
  echo "| PyTorch, 2 threads, compiled, channels_last | ${speed_of[torch_compiled_cl]} |"
  echo
  echo "| ratio | measured | wanted |"
  echo "|---|---|---|"
  echo "| 2 ranks to PyTorch DDP | $(ratio "${speed_of[ours_2x1]}" "${speed_of[torch_ddp]}") | 3.5 |"
  echo "| 2 ranks to PyTorch's best | $(ratio "${speed_of[ours_2x1]}" "$best") | 2.0 |"
  echo "| 2 ranks to 1 rank x 1 thread | $(ratio "${speed_of[ours_2x1]}" "${speed_of[ours_1x1]}") | 1.9 |"
  echo "| 1 rank x 2 threads to 2 ranks | $(ratio "${speed_of[ours_1x2]}" "${speed_of[ours_2x1]}") | 0.95 |"
  echo "| canonical sum of 44 MB to MPI_Allreduce, 2 ranks | $(median reduce) | 3 |"
  echo "| whole run of one step and its evaluation, data decompressed, ms | $(median first_step) | |"
  echo "| \`import torch\`, ms | $(median import_torch) | |"
}
table | tee "$work/table"

if [[ $write == yes ]]; then
  awk -v file="$work/table" '
    /<!-- compare.sh begin -->/ {print; print ""; while ((getline line < file) > 0) print line; print ""; inside = 1}
    /<!-- compare.sh end -->/ {inside = 0}
    !inside || /<!-- compare.sh end -->/ {if (!/<!-- compare.sh begin -->/) print}' docs/performance.md >"$work/page"
  cp "$work/page" docs/performance.md
fi
