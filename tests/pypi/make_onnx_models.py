"""Writes the models of tests/onnx/models with PyTorch's exporters. Run from the repository's root, with torch,
torchvision, onnx and onnxscript: python tests/pypi/make_onnx_models.py

Networks of this file are written as NAME.EXPORTER.onnx, with their results in NAME.safetensors: "input", and
"EXPORTER", the logits in evaluation. VGG-11 of torchvision is written without the values of its weights, as
vgg11_bn.EXPORTER.graph.onnx.
"""

import copy
import json
import pathlib
import struct
import sys
import tempfile
import warnings

import onnx
import torch
import torchvision
from torch import nn

FOLDER = pathlib.Path("tests/onnx/models")


class Residual(nn.Module):
    """A residual network with batch norm, as torchvision's."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = torchvision.models.resnet.BasicBlock(8, 8)
        downsample = nn.Sequential(nn.Conv2d(8, 12, 1, stride=2, bias=False), nn.BatchNorm2d(12))
        self.layer2 = torchvision.models.resnet.BasicBlock(8, 12, stride=2, downsample=downsample)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layer2(self.layer1(x)))
        return self.fc(torch.flatten(x, 1))


class Own(nn.Module):
    """A small network with the other operations, as somebody writes it."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=2, dilation=2)
        self.norm = nn.GroupNorm(4, 8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.pointwise = nn.Conv2d(8, 16, 1)
        self.branch = nn.Sequential(nn.Conv2d(8, 8, 1), nn.SiLU())
        self.dropout = nn.Dropout(0.25)
        self.hidden = nn.Linear(24 * 4 * 4, 20, bias=False)
        self.head = nn.Linear(20, 5)

    def forward(self, x):
        x = nn.functional.gelu(self.norm(self.stem(x)))
        y = nn.functional.relu6(self.pointwise(self.depthwise(x)))
        x = torch.cat([self.branch(x), y], dim=1)
        x = nn.functional.avg_pool2d(nn.functional.max_pool2d(x, 2), 2)
        x = x.view(x.size(0), -1)
        return self.head(self.dropout(torch.relu(self.hidden(x))))


def randomize(model):
    """Values for statistics and norms that differ from the first ones."""
    torch.manual_seed(7)
    for name, tensor in model.state_dict().items():
        if name.endswith(("running_var", "norm.weight", "bn1.weight", "bn2.weight")):
            tensor.uniform_(0.5, 1.5)
        elif name.endswith(("running_mean", "bias")):
            tensor.uniform_(-0.25, 0.25)


def by_dynamo(model, x, file, **options):
    torch.onnx.export(model, (x,), file, dynamo=True, external_data=False, verbose=False, **options)


def by_script(model, x, file, **options):
    torch.onnx.export(model, (x,), file, dynamo=False, input_names=["input"], **options)


# The first setting of each exporter folds batch norm into convolutions and leaves some weights unnamed.
EXPORTERS = {
    "dynamo": lambda model, x, file: by_dynamo(model.eval(), x, file),
    "dynamo-train": lambda model, x, file: by_dynamo(
        model.train(), x, file, optimize=False, dynamic_shapes=({0: "batch"},)
    ),
    "script": lambda model, x, file: by_script(model.eval(), x, file),
    "script-eval": lambda model, x, file: by_script(
        model.eval(), x, file, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False
    ),
    "script-train": lambda model, x, file: by_script(
        model.train(),
        x,
        file,
        training=torch.onnx.TrainingMode.TRAINING,
        do_constant_folding=False,
        dynamic_axes={"input": {0: "batch"}},
    ),
}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def without_remarks(model):
    """Source lines and paths of the machine are left out."""
    del model.metadata_props[:]
    model.graph.ClearField("doc_string")
    del model.graph.metadata_props[:]
    for node in model.graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]
    del model.graph.value_info[:]
    for value in [*model.graph.input, *model.graph.output]:
        del value.metadata_props[:]
    return model


def without_weights(model):
    """Weights become references to a file that is not there."""
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > 64:
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="weights-are-not-in-the-tests.data")
    return model


def export(model, x, exporter):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "m.onnx"
        EXPORTERS[exporter](model, x, str(file))
        return without_remarks(onnx.load(file))


def main():
    warnings.filterwarnings("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in {"residual": Residual, "own": Own}.items():
        model = make()
        randomize(model)
        x = torch.rand(2, 3, 16, 16) * 2 - 1
        results = {"input": x}
        for exporter in EXPORTERS:
            exported = copy.deepcopy(model)  # in training mode, the exporter changes running statistics
            onnx.save(export(exported, x, exporter), FOLDER / f"{name}.{exporter}.onnx")
            results[exporter] = exported.eval()(x).detach()
        write_safetensors(FOLDER / f"{name}.safetensors", results)
    model = torchvision.models.vgg11_bn(num_classes=10)
    for exporter in EXPORTERS:
        file = FOLDER / f"vgg11_bn.{exporter}.graph.onnx"
        onnx.save(without_weights(export(model, torch.rand(2, 3, 224, 224), exporter)), file)


if __name__ == "__main__":
    sys.exit(main())
