"""Writes tests/models/losses.json: losses and logits of torchvision's models for two images, in evaluation mode.

Run from the repository's root with PyTorch and torchvision: python bench/peers/make_logits_reference.py
Parameters, running statistics and images are made by a formula of whole numbers that tests/models/losses_test.cpp
repeats exactly, so that only the results are stored: the cross-entropy for each of 10 classes, which is the logits'
log-sum-exp minus the logit, of the first image, and that of the first class for the second one.
"""

import numpy as np
import torch
import torchvision
from compact_json import write
from models import resnet18_d2l

CLASSES = 10


def hashed(name, count):
    """Numbers of 32 bits, a function of name and position."""
    seed = 2166136261
    for byte in name.encode():  # FNV-1a
        seed = (seed ^ byte) * 16777619 % 2**32
    h = (np.arange(count, dtype=np.uint64) * 2654435761 + seed) % 2**32
    h = (h ^ h >> 16) * 0x45D9F3B % 2**32
    h = (h ^ h >> 16) * 0x45D9F3B % 2**32
    return h ^ h >> 16


def fractions(name, count):
    """Numbers in [0, 1) of 20 bits, so that the arithmetic below is exact."""
    return (hashed(name, count) >> 12).astype(np.float32) / np.float32(2**20)


def parameter(name, shape):
    count = int(np.prod(shape))
    u = fractions(name, count)
    signed = 2 * u - 1
    if name.endswith("running_var"):
        values = 0.5 + u
    elif name.endswith("running_mean"):
        values = signed / 4
    elif len(shape) == 1:  # weights of batch norm; biases
        values = 0.75 + u / 2 if name.endswith("weight") else signed / 8
    else:
        halvings = 0  # how often to halve values in [-1, 1), so that their variance is about 2 / fan-in
        while 6 * 4**halvings < count // shape[0]:
            halvings += 1
        values = signed / 2**halvings
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


def losses(model, shape):
    state = {name: parameter(name, tuple(tensor.shape)) if tensor.is_floating_point() else tensor
             for name, tensor in model.state_dict().items()}
    model.load_state_dict(state)
    pixels = (hashed("images", 2 * int(np.prod(shape))) >> 24).astype(np.float32)
    images = torch.from_numpy(pixels / np.float32(255)).reshape(2, *shape)
    with torch.no_grad():
        logits = model.eval().double()(images.double())
    first, second = (-torch.log_softmax(logits, 1)).tolist()
    return [first, second[:1]]


def main():
    small, large = (1, 28, 28), (3, 64, 64)
    models = {name.replace("_", "-"): (getattr(torchvision.models, name)(num_classes=CLASSES), large)
              for name in ["alexnet", "mobilenet_v2", "resnet18", "resnet50"]}
    models["resnet18-d2l"] = (resnet18_d2l(), small)
    results = {name: {"shape": shape, "losses": losses(model, shape)} for name, (model, shape) in models.items()}
    write("tests/models/losses.json", results)


if __name__ == "__main__":
    main()
