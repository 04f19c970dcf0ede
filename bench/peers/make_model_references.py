"""Writes tests/models/parameters.txt: names and shapes of the parameters of torchvision's models.

Run from the repository's root with PyTorch and torchvision: python bench/peers/make_model_references.py
A line has a model's name and its parameters: NAME[EXTENTxEXTENT...] and so on. The counters num_batches_tracked are
left out.
"""

import torchvision
from models import resnet18_d2l

NAMES = ["alexnet", "mobilenet_v2", "resnet18", "resnet34", "resnet50", "vgg11", "vgg11_bn", "vgg16", "vgg16_bn"]


def parameters(model):
    for key, tensor in model.state_dict().items():
        if not key.endswith("num_batches_tracked"):
            yield f"{key}[{'x'.join(map(str, tensor.shape))}]"


def main():
    models = {name.replace("_", "-"): getattr(torchvision.models, name)() for name in NAMES}
    models["resnet18-d2l"] = resnet18_d2l()
    with open("tests/models/parameters.txt", "w") as file:
        for name, model in models.items():
            file.write(" ".join([name, *parameters(model)]) + "\n")


if __name__ == "__main__":
    main()
