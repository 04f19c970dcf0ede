#!/usr/bin/env bash
# Repeats the studies of docs/studies. Trains, then writes from the run directories the record of the study (STUDY.tsv),
# its pictures (STUDY*.svg) and the tables in STUDY.md.
#
#   docs/studies/run.sh [--runs DIR] [--seeds N] [--tables-only] STUDY...
#
# STUDY: large-batches batch-norm learning-rates, or all.
# --runs DIR     folder of the run directories [runs/studies]; complete runs are not repeated
# --seeds N      seeds 0 to N-1 of every setting [2]
# --tables-only  do not train: pictures and tables from the existing records
#
# LOCKSTEP is the program [build/release/lockstep]. Its options can be set as LOCKSTEP_NAME, such as LOCKSTEP_THREADS=1.
# Needs Python 3 without packages. On an idle core, all studies take about 40 minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

lockstep=${LOCKSTEP:-build/release/lockstep}
unset LOCKSTEP
runs=runs/studies
seeds=2
training=yes
studies=()
residual=docs/studies/thin-residual.json

fail() {
  echo "run.sh: $*" >&2
  exit 2
}

while (($# > 0)); do
  case $1 in
    --runs | --seeds)
      (($# > 1)) || fail "$1 takes a value"
      if [[ $1 == --runs ]]; then runs=$2; else seeds=$2; fi
      shift
      ;;
    --tables-only) training=no ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' docs/studies/run.sh && exit 0 ;;
    large-batches | batch-norm | learning-rates) studies+=("$1") ;;
    all) studies+=(large-batches batch-norm learning-rates) ;;
    *) fail "unknown argument $1 (see --help)" ;;
  esac
  shift
done
((${#studies[@]} > 0)) || fail "which study? (see --help)"
[[ -n $runs ]] || fail "--runs takes a folder"
[[ $seeds =~ ^[1-9][0-9]*$ ]] || fail "--seeds takes a number"
[[ $training == no || -x $lockstep ]] ||
  fail "$lockstep does not exist; build it: cmake --preset release && cmake --build --preset release"
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# Makes one run, in DIR = RUNS/STUDY/SERIES-X-seedSEED. A loss that is not finite is a result too.
train() { # ranks series x seed option...
  local ranks=$1 dir="$runs/$study/$2-$3-seed$4" seed=$4 launch=()
  shift 4
  ! grep -qs '"event":"end"' "$dir/metrics.jsonl" && [[ ! -e $dir/diverged ]] || return 0
  rm -rf "$dir"
  mkdir -p "$dir"
  ((ranks == 1)) || launch=(mpirun --oversubscribe --bind-to none -np "$ranks")
  echo "$dir" >&2
  "${launch[@]}" "$lockstep" train --run-dir "$dir" --seed "$seed" --log-interval 1000 --quiet "$@" \
    >/dev/null 2>"$dir/errors" || {
    grep -q 'try a smaller learning rate' "$dir/errors" || { cat "$dir/errors" >&2 && fail "$dir failed"; }
    mv "$dir/errors" "$dir/diverged"
  }
}

# The text's experiment: the batch k times as large, and the learning rate with it.
large_batches() { # seed
  local k
  scaled() { # series k option...
    local series=$1 k=$2
    shift 2
    train 1 "$series" "$k" "$seed" --model "$residual" --epochs 10 --batch-size $((256 * k)) "$@"
  }
  local seed=$1 linear=(--lr 0.1 --lr-base-batch-size 256)
  for k in 1 2 4 8 16; do
    scaled linear "$k" "${linear[@]}"
  done
  for k in 2 4 8 16; do
    scaled warmup "$k" "${linear[@]}" --warmup-epochs 2
  done
  for k in 8 16; do
    scaled sqrt "$k" "${linear[@]}" --lr-base-scale sqrt --warmup-epochs 2
  done
  for k in 2 16; do
    scaled decay "$k" "${linear[@]}" --sched cosine
  done
  for k in 1 2 8 16; do
    scaled cosine "$k" "${linear[@]}" --warmup-epochs 2 --sched cosine
  done
  scaled lars 16 --optimizer lars --momentum 0.9 --lr 8 --warmup-epochs 2 --sched cosine
  scaled lamb 16 --optimizer lamb --lr 0.05 --warmup-epochs 2 --sched cosine
}

# The same batch, cut into micro-batches of other sizes; and one of them on more ranks.
batch_norm() { # seed
  local seed=$1 size ranks options=(--model "$residual" --lr 0.1 --sched cosine)
  for size in 4 8 16 32 64 128 256; do
    train 1 size "$size" "$seed" "${options[@]}" --epochs 5 --micro-batches $((256 / size))
  done
  ((seed == 0)) || return 0
  for ranks in 1 2 4; do
    train "$ranks" ranks "$ranks" 0 "${options[@]}" --epochs 1 --micro-batches 8
  done
}

# Learning rates of three update rules; and of SGD on another network, which takes longer: one seed.
learning_rates() { # seed
  local seed=$1 lr
  for lr in 0.03 0.1 0.3 1 3; do
    train 1 sgd "$lr" "$seed" --model mlp --epochs 5 --lr "$lr"
  done
  for lr in 0.003 0.01 0.03 0.1 0.3; do
    train 1 momentum "$lr" "$seed" --model mlp --epochs 5 --lr "$lr" --momentum 0.9
  done
  for lr in 0.0003 0.001 0.003 0.01 0.03; do
    train 1 adamw "$lr" "$seed" --model mlp --epochs 5 --lr "$lr" --optimizer adamw
  done
  ((seed == 0)) || return 0
  for lr in 0.05 0.1 0.2 0.4 0.8; do
    train 1 lenet "$lr" 0 --model lenet --epochs 5 --lr "$lr"
  done
}

for study in "${studies[@]}"; do
  if [[ $training == yes ]]; then
    for ((seed = 0; seed < seeds; ++seed)); do
      "${study//-/_}" "$seed"
    done
    python3 docs/studies/summary.py --collect "$runs/$study" "$study"
  fi
  python3 docs/studies/summary.py "$study"
done
