#!/usr/bin/env bash
# Writes the reference losses of the replay tests to tests/train/replay. PyTorch computes them from samples in
# lockstep's order.
#   PYTHON=... LOCKSTEP=... bench/peers/make_replay_reference.sh [lenet] [resnet18]
#
# LeNet starts from initial values up to twenty times as large as its usual ones (lenet_network.json). From the usual
# values, near zero, rounding errors grow by a factor of a million while the loss leaves its plateau, so that PyTorch's
# own losses change with the order of additions. The printed lines show how much the losses still differ.
#
# ResNet-18 starts from initial values ten times as large as its usual ones (resnet18_network.json). In layers before a
# batch norm, larger weights yield the same outputs, and gradients a tenth as large. From the usual values, a step
# changes the direction of the weights so much that PyTorch in float32 and in float64 differ by 3e-3 after six steps,
# even with a learning rate of 0.002: a single ReLU of the last stage whose input is within rounding of zero changes all
# gradients before it by 3e-3.
set -euo pipefail

peers=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(dirname "$(dirname "$peers")")
target=$root/tests/train/replay
python=${PYTHON:-python3}
lockstep=${LOCKSTEP:-$root/build/release/lockstep}
seed=7

[[ -x $lockstep ]] || { printf 'no program at %s; set LOCKSTEP\n' "$lockstep" >&2; exit 2; }
"$python" -c 'import numpy, safetensors, torch' ||
  { printf 'run first: %s -m pip install -r bench/peers/requirements.txt\n' "$python" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# replay NAME OPTION...: writes the reference, and prints how much the losses of two other computations differ from it.
replay() {
  local name=$1 replay
  shift
  replay=("$python" "$peers/replay.py" --weights "$work/start.safetensors" --order "$work/order" --seed "$seed" "$@")
  "${replay[@]}" --output "$target/$name.json"
  "${replay[@]}" --output "$work/parts.json" --micro-batches 8
  "${replay[@]}" --output "$work/double.json" --float64
  compare "$target/$name.json" "8 micro-batches" "$work/parts.json" "float64" "$work/double.json"
}

# compare REFERENCE {NAME FILE}...: prints how much the losses in the files differ from those in the reference.
compare() {
  "$python" - "$@" <<'PYTHON'
import json
import sys

reference, *files = (json.load(open(file))["losses"] for file in sys.argv[1::2])
for what, losses in zip(sys.argv[2::2], files):
    difference = max(abs(a - b) / b for a, b in zip(losses, reference))
    print(f"{sys.argv[1].rsplit('/', 1)[1]}: loss {reference[0]:.4f} to {reference[-1]:.4f}, {what} differs by {difference:.1e}")
PYTHON
}

lenet() {
  "$lockstep" train --model "$target/lenet_network.json" --epochs 0 --seed "$seed" --save-model "$work/start.safetensors"
  "$lockstep" data order --dataset fashion-mnist --seed "$seed" --epoch 1 >"$work/order"
  replay sgd --lr 0.008
  replay momentum --lr 0.001 --momentum 0.9 --weight-decay 1e-3
}

# Trains on the first 640 images for one epoch. The order of images depends only on their number and the seed.
resnet18() {
  local run
  "$lockstep" train --model "$target/resnet18_network.json" --epochs 0 --seed "$seed" --save-model "$work/start.safetensors"
  "$lockstep" data order --dataset synthetic --samples 640 --seed "$seed" --epoch 1 >"$work/order"
  run=("$python" "$peers/replay.py" --model resnet18-d2l --weights "$work/start.safetensors" --order "$work/order"
    --seed "$seed" --steps 20 --batch-size 32 --micro-batches 2)
  "${run[@]}" --lr 0.002 --output "$target/resnet18.json"
  "${run[@]}" --lr 0 --output "$target/resnet18_idle.json"
  "${run[@]}" --lr 0.002 --float64 --output "$work/double.json"
  compare "$target/resnet18.json" "float64" "$work/double.json"
}

mkdir -p "$target"
if [[ $# -eq 0 ]]; then set -- lenet resnet18; fi
for network in "$@"; do
  case $network in
    lenet | resnet18) "$network" ;;
    *) printf 'unknown network %s: lenet or resnet18\n' "$network" >&2 && exit 2 ;;
  esac
done
