#!/usr/bin/env bash
# Writes what the replay test compares lockstep with, into tests/train/replay: a model to start from, and the
# losses of 100 steps from there, both by PyTorch. The order of the samples is lockstep's.
#   PYTHON=... LOCKSTEP=... bench/peers/make_replay_reference.sh
#
# The start is a model after 60 steps: from first values near zero, rounding grows a millionfold while the
# loss leaves its plateau, and PyTorch would disagree with itself in another order of additions. The lines
# printed here say by how much it does from this start.
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

# replay NAME OPTION...: the reference, and how far two other ways to compute it are from it.
replay() {
  local name=$1 replay
  shift
  replay=("$python" "$peers/replay.py" --weights "$target/start.safetensors" --order "$work/order" --seed "$seed" "$@")
  "${replay[@]}" --output "$target/$name.json"
  "${replay[@]}" --output "$work/parts.json" --micro-batches 8
  "${replay[@]}" --output "$work/double.json" --float64
  "$python" - "$target/$name.json" "$work/parts.json" "$work/double.json" <<'PYTHON'
import json
import sys

reference, parts, double = (json.load(open(file))["losses"] for file in sys.argv[1:])
for what, losses in ("8 micro-batches", parts), ("float64", double):
    difference = max(abs(a - b) / b for a, b in zip(losses, reference))
    print(f"{sys.argv[1].rsplit('/', 1)[1]}: loss {reference[0]:.4f} to {reference[-1]:.4f}, {what} differs by {difference:.1e}")
PYTHON
}

mkdir -p "$target"
"$python" "$peers/torch_ddp.py" --max-steps 60 --lr 0.2 --save-model "$target/start.safetensors"
"$lockstep" data order --dataset fashion-mnist --seed "$seed" --epoch 1 >"$work/order"
replay sgd --lr 0.02
replay momentum --lr 0.002 --momentum 0.9 --weight-decay 1e-3
