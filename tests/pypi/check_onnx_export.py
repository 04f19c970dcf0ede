"""Checks exported models with the packages onnx and onnxruntime: the checker accepts them, and their results are those
of lockstep, for one sample and for several. Usage: check_onnx_export.py WRITER [large], with the program of
write_onnx_models.cpp"""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from safetensors.numpy import load_file

TOLERANCE = 1e-5  # relative to the largest logit or 1, whichever is larger


def run(path, values):
    """The outputs for all samples, and for the first one alone."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (declared,) = session.get_inputs()
    values = values.reshape((len(values), *declared.shape[1:]))
    (output,) = session.get_outputs()
    return output.name, session.run(None, {"input": values})[0], session.run(None, {"input": values[:1]})[0]


def softmax(logits):
    powers = numpy.exp(logits.astype(numpy.float64) - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def difference(found, expected):
    """Largest difference, relative to the largest value if that is above 1."""
    assert found.shape == expected.shape, (found.shape, expected.shape)
    return float(numpy.abs(found - expected).max() / max(1.0, numpy.abs(expected).max()))


def check(path, values, name, expected):
    onnx.checker.check_model(str(path), full_check=True)
    output, all_samples, first = run(path, values)
    assert output == name, output
    worst = max(difference(all_samples, expected), difference(first, expected[:1]))
    if not worst <= TOLERANCE:
        raise SystemExit(f"{path.name}: {name} differ by {worst:.2e}")
    return worst


def check_all(folder):
    references = sorted(folder.glob("*.safetensors"))
    assert references, folder
    worst = 0.0
    for path in references:
        reference = load_file(path)
        logits = reference["logits"]
        plain, raw = path.with_suffix(".onnx"), path.with_suffix(".raw.onnx")
        worst = max(worst, check(plain, reference["input"], "logits", logits))
        pixels = reference["pixels"].astype(numpy.uint8)
        worst = max(worst, check(raw, pixels, "probabilities", softmax(logits)))
        model = onnx.load(raw)
        assert (model.producer_name, model.opset_import[0].version) == ("lockstep", 17)
        assert [(entry.key, entry.value) for entry in model.metadata_props] == [("classes", '["cat"]')]
    print(f"{2 * len(references)} models, largest difference {worst:.1e}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder, *sys.argv[2:]], check=True)
        check_all(pathlib.Path(folder))
