"""Networks that PyTorch exports are imported: torchvision's train to the digest of the built-in ones, and a network of
one's own gives PyTorch's results when it is exported again. Usage: import_torch_test.py LOCKSTEP"""

import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnxruntime
import torch
import torchvision
from make_onnx_models import Own, Residual, randomize

SHAPE = (3, 32, 32)
TRAINING = (
    "--dataset synthetic --synthetic-shape 3x32x32 --classes 10 --samples 32 --epochs 1 --batch-size 16 "
    "--micro-batches 1 --threads 1 --device cpu --quiet"
).split()


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def export_as_documented(model, file):
    """As docs/onnx.md says; weights of large models are in a file beside it."""
    torch.onnx.export(model.train(), (torch.zeros(2, *SHAPE),), str(file), optimize=False, verbose=False)


def export_by_script(model, file):
    mode = torch.onnx.TrainingMode.TRAINING
    x = (torch.zeros(2, *SHAPE),)
    torch.onnx.export(model.train(), x, str(file), dynamo=False, training=mode, do_constant_folding=False)


def digest(lockstep, model):
    (line,) = [line for line in run(lockstep, "train", "--model", model, *TRAINING).splitlines() if "digest" in line]
    return line.split()[1]


def check_built_in(lockstep, folder, name, built_in, export):
    export(getattr(torchvision.models, name)(num_classes=10), folder / "m.onnx")
    network = folder / f"{built_in}.json"  # import replaces no other network
    run(lockstep, "import", folder / "m.onnx", network)
    expected, found = digest(lockstep, built_in), digest(lockstep, network)
    assert found == expected, (name, found, expected)


def check_results(lockstep, folder, model):
    randomize(model)
    x = torch.rand(2, 3, 16, 16) * 2 - 1
    torch.onnx.export(model.train(), (x,), str(folder / "m.onnx"), optimize=False, verbose=False)
    name = type(model).__name__
    run(lockstep, "import", folder / "m.onnx", folder / f"{name}.json")
    run(lockstep, "export", folder / f"{name}.safetensors", folder / "again.onnx")
    session = onnxruntime.InferenceSession(str(folder / "again.onnx"))
    found = session.run(None, {"input": x.numpy()})[0]
    assert numpy.abs(found - model.eval()(x).detach().numpy()).max() < 1e-5


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    lockstep = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_built_in(lockstep, folder, "resnet18", "resnet18", export_as_documented)
        check_built_in(lockstep, folder, "mobilenet_v2", "mobilenet-v2", export_by_script)
        check_results(lockstep, folder, Residual())
        check_results(lockstep, folder, Own())


if __name__ == "__main__":
    main()
