#!/usr/bin/env bash
# Measures whole training steps of larger networks beside PyTorch on this machine, in turn, several rounds, and
# prints the medians and the medians of the rounds' ratios as a table.
#
#   PYTHON=venv/bin/python bench/compare_networks.sh [--rounds N] [--f32] [CASE...]
#
# CASE: resnet18-d2l:64 resnet18-d2l:256 resnet50:32 mobilenet-v2:32 (network:batch size); without one, all.
# --f32: without PyTorch in bf16, which takes minutes on processors that have no instructions for it.
# PYTHON needs bench/peers/requirements.txt and torchvision. Use an idle machine with two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lockstep=${LOCKSTEP:-build/release/lockstep}
python=${PYTHON:-python3}
rounds=3
cases=()
names=(ours eager compiled bf16 bf16_compiled)

fail() {
  echo "compare_networks.sh: $*" >&2
  exit 2
}

while (($# > 0)); do
  case $1 in
    --rounds) rounds=${2:-} && shift ;;
    --f32) names=(ours eager compiled) ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *:*) cases+=("$1") ;;
    *) fail "unknown argument $1 (see --help)" ;;
  esac
  shift
done
((${#cases[@]} > 0)) || cases=(resnet18-d2l:64 resnet18-d2l:256 resnet50:32 mobilenet-v2:32)
[[ $rounds =~ ^[1-9][0-9]*$ ]] || fail "--rounds takes a number"
[[ -x $lockstep ]] || fail "$lockstep is not there: cmake --preset release && cmake --build --preset release"
"$python" -c 'import torch, numpy, safetensors' 2>/dev/null ||
  fail "$python has no PyTorch: $python -m pip install -r bench/peers/requirements.txt"
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs a command; what it prints goes to a file, and is shown when it fails. Peak memory in $work/rss, kB.
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>"$log.err" || {
    cat "$log" "$log.err" >&2
    echo "compare_networks.sh: failed: $*" >&2
    return 1
  }
}
speed() { sed -n 's|^\(.* \)\{0,1\}\([0-9.]*\) img/s$|\2|p' "$1" | tail -n 1; }
# Prints the middle of the numbers it reads in the given format; a dash where there are none.
middle() { # format
  sort -n | awk -v format="$1" '{v[NR] = $1}
    END {if (NR == 0) print "-"; else printf format, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}
median() { middle '%.1f' <"$work/$1"; }
ratio() { paste "$work/$1" "$work/$2" | awk 'NF == 2 {print $1 / $2}' | middle '%.2f'; }

# Steps of one measurement: about 1,000 small images, or 200 large ones.
steps_of() { # model batch
  local images=1024
  [[ $1 == resnet18-d2l ]] || images=192
  echo $(((images + $2 - 1) / $2))
}
ours() { # model batch
  local data=() parts=auto
  [[ $1 == resnet18-d2l ]] || data=(--dataset synthetic --synthetic-shape 3x224x224 --classes 1000 --samples 512)
  (($2 >= 64)) || parts=2  # a micro-batch for each rank
  quietly "$work/log" mpirun --oversubscribe --bind-to none -np 2 "$lockstep" bench step --model "$1" \
    --batch-size "$2" --micro-batches "$parts" --threads 1 --steps "$(steps_of "$@")" "${data[@]}" || return
  awk '/^memory/ {print $2}' "$work/log" >>"$work/memory_ours"
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

measure() { # name model batch
  case $1 in
    ours) ours "$2" "$3" ;;
    eager) torch "$2" "$3" ;;
    compiled) torch "$2" "$3" --compile ;;
    bf16) torch "$2" "$3" --bf16 ;;
    bf16_compiled) torch "$2" "$3" --bf16 --compile ;;
  esac
}

echo "| network, batch | lockstep, 2 ranks x 1 thread | PyTorch eager | compiled | bf16 | bf16 compiled | to the best f32 | to the best bf16 | memory of a rank to PyTorch's process, MB |"
echo "|---|---|---|---|---|---|---|---|---|"
for one in "${cases[@]}"; do
  model=${one%%:*} batch=${one##*:}
  for name in ours eager compiled bf16 bf16_compiled best_f32 best_bf16 memory_ours memory_torch; do
    : >"$work/$name"
  done
  for ((round = 1; round <= rounds; ++round)); do
    for name in "${names[@]}"; do
      measure "$name" "$model" "$batch" >"$work/figure"
      [[ -s $work/figure ]] || fail "$name printed no speed for $one"
      cat "$work/figure" >>"$work/$name"
      echo "$one round $round  $name  $(cat "$work/figure") img/s" >&2
    done
    for kind in f32:eager:compiled bf16:bf16:bf16_compiled; do
      IFS=: read -r best first second <<<"$kind"
      [[ -s $work/$second ]] || continue
      { tail -n 1 "$work/$first"; tail -n 1 "$work/$second"; } | sort -n | tail -n 1 >>"$work/best_$best"
    done
  done
  echo "| $model, $batch | $(median ours) | $(median eager) | $(median compiled) | $(median bf16) | $(median bf16_compiled) |" \
    "**$(ratio ours best_f32)** | **$(ratio ours best_bf16)** | $(median memory_ours) / $(median memory_torch) |"
done
