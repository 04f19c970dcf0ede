#!/usr/bin/env bash
# Measures training steps of larger networks with lockstep and PyTorch on this machine, in turn, in several rounds, and
# prints a table of medians and of the medians of the rounds' ratios. --write also writes the table to
# docs/performance.md. lockstep runs on two ranks with a micro-batch each, PyTorch in one process with two threads.
#
#   PYTHON=venv/bin/python bench/compare_networks.sh [--rounds N] [--f32] [--write] [CASE...]
#
# CASE is NETWORK:BATCH or NETWORK:BATCH:ROUNDS; default: resnet18-d2l:64 resnet18-d2l:256 resnet50:32 mobilenet-v2:32.
# --f32 leaves out bf16, with which PyTorch takes minutes on processors without instructions for it.
# PYTHON needs the packages of bench/peers/requirements.txt, and torchvision.
# Use an idle machine with two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=bench/common.sh
source bench/common.sh

rounds=3
cases=()
write=no
names=(ours ours_bf16 eager compiled bf16 bf16_compiled)

while (($# > 0)); do
  case $1 in
    --rounds) rounds=${2:-} && shift ;;
    --f32) names=(ours eager compiled) ;;
    --write) write=yes ;;
    -h | --help) print_help && exit 0 ;;
    *:*) cases+=("$1") ;;
    *) fail "unknown argument $1 (see --help)" ;;
  esac
  shift
done
((${#cases[@]} > 0)) || cases=(resnet18-d2l:64 resnet18-d2l:256 resnet50:32 mobilenet-v2:32)
[[ $rounds =~ ^[1-9][0-9]*$ ]] || fail "--rounds takes a number"
prepare torch,numpy

# Prints the number of steps of a measurement: 1,024 small images, or 192 large ones.
steps_of() { # model batch
  local images=1024
  [[ $1 == resnet18-d2l ]] || images=192
  echo $(((images + $2 - 1) / $2))
}
ours() { # model batch dtype
  local data=()
  [[ $1 == resnet18-d2l ]] || data=(--dataset synthetic --synthetic-shape 3x224x224 --classes 1000 --samples 512)
  on_ranks 2 bench step --model "$1" --batch-size "$2" --micro-batches 2 --threads 1 --steps "$(steps_of "$@")" \
    --dtype "$3" "${data[@]}" || return
  awk '/^memory/ {print $2}' "$work/log" >>"$work/memory_$3"
  speed "$work/log"
}
torch() { # model batch option...
  local model=$1 batch=$2 data=() steps
  shift 2
  steps=$(steps_of "$model" "$batch")
  [[ $model == resnet18-d2l ]] || data=(--synthetic $((steps * batch)) 3 224 224)
  quietly "$work/log" /usr/bin/env time -f '%M' -o "$work/rss" "$python" bench/peers/torch_ddp.py --model "$model" \
    --batch-size "$batch" --threads 2 --epochs 2 --max-steps "$steps" --lr 0.01 --channels-last "${data[@]}" "$@" ||
    return
  awk '{printf "%.0f\n", $1 / 1000}' "$work/rss" >>"$work/memory_torch"
  speed "$work/log"
}

measure() { # name
  case $1 in
    ours) ours "$model" "$batch" fp32 ;;
    ours_bf16) ours "$model" "$batch" bf16 ;;
    eager) torch "$model" "$batch" ;;
    compiled) torch "$model" "$batch" --compile ;;
    bf16) torch "$model" "$batch" --bf16 ;;
    bf16_compiled) torch "$model" "$batch" --bf16 --compile ;;
  esac
}

print_row() {
  local name
  printf '| %s, %s | %s |' "$model" "$batch" "$own_rounds"
  for name in ours eager compiled ours_bf16 bf16 bf16_compiled; do printf ' %s |' "$(median "$name" %.1f)"; done
  printf ' **%s** | **%s** | %s / %s / %s |\n' "$(ratio ours best_f32)" "$(ratio ours_bf16 best_bf16)" \
    "$(median memory_fp32)" "$(median memory_bf16)" "$(median memory_torch)"
}

rows=()
for one in "${cases[@]}"; do
  IFS=: read -r model batch own_rounds <<<"$one"
  own_rounds=${own_rounds:-$rounds}
  for name in ours ours_bf16 eager compiled bf16 bf16_compiled best_f32 best_bf16 memory_fp32 memory_bf16 memory_torch; do
    : >"$work/$name"
  done
  for ((round = 1; round <= own_rounds; ++round)); do
    measure_round "$one round $round" "${names[@]}"
    add_best best_f32 eager compiled
    add_best best_bf16 bf16 bf16_compiled
  done
  rows+=("$(print_row)")
done
{
  conditions
  echo "| images/s: network, batch | rounds | lockstep f32, 2 ranks x 1 thread | PyTorch f32 | compiled | lockstep bf16 | PyTorch bf16 | compiled | f32 to the best f32 | bf16 to the best bf16 | MB of a rank f32 / bf16 / of PyTorch |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|"
  printf '%s\n' "${rows[@]}"
} | tee "$work/table"
[[ $write == no ]] || write_table
