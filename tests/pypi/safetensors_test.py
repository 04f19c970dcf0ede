"""The package safetensors reads the models of a run, and what they say about themselves.
Usage: safetensors_test.py LOCKSTEP"""

import json
import pathlib
import subprocess
import sys
import tempfile

from safetensors import safe_open

OPTIONS = (
    "--dataset synthetic --synthetic-shape 1x8x8 --samples 60 --classes 3 --model mlp:8 --batch-size 16 "
    "--max-steps 2 --threads 1 --device cpu --quiet"
).split()
SHAPES = {"fc1.weight": [8, 64], "fc1.bias": [8], "fc2.weight": [3, 8], "fc2.bias": [3]}


def check(path):
    with safe_open(path, "numpy") as model:
        shapes = {name: list(model.get_tensor(name).shape) for name in model.keys()}
        metadata = model.metadata()
    assert shapes == SHAPES, (path, shapes)
    assert json.loads(metadata["input_shape"]) == [1, 8, 8], (path, metadata)
    assert json.loads(metadata["network"])["layers"], (path, metadata)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        run = pathlib.Path(name) / "run"
        subprocess.run([sys.argv[1], "train", *OPTIONS, "--run-dir", run], check=True, stdout=subprocess.DEVNULL)
        for model in ("best.safetensors", "final.safetensors", "step-00000002/model.safetensors"):
            check(run / "checkpoints" / model)
