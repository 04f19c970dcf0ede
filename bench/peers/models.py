"""The models of lockstep in PyTorch, with the same names of parameters. LeNet and Dive into Deep Learning's ResNet take
images of 1x28x28; the others are torchvision's."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 3)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(800, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool2d(F.relu(self.conv1(x)), 2)
        x = F.avg_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Residual(nn.Module):
    """Two 3x3 convolutions and a shortcut, 1x1 where the shape changes (He et al., 2016)."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.conv3 = nn.Conv2d(inputs, outputs, 1, stride) if stride != 1 else nn.Identity()
        self.bn1 = nn.BatchNorm2d(outputs)
        self.bn2 = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.conv3(x))


def resnet18_d2l() -> nn.Module:
    """The ResNet-18 of Dive into Deep Learning, with its names."""
    net = nn.Sequential(nn.Conv2d(1, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
    for stage in range(4):
        outputs = 64 << stage
        first = Residual(64, 64) if stage == 0 else Residual(outputs // 2, outputs, 2)
        net.add_module(f"resnet_block{stage + 1}", nn.Sequential(first, Residual(outputs, outputs)))
    net.add_module("global_avg_pool", nn.AdaptiveAvgPool2d(1))
    net.add_module("fc", nn.Sequential(nn.Flatten(), nn.Linear(512, 10)))
    return net


def of_torchvision(name: str) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        from torchvision import models  # the other models do not need it

        return getattr(models, name)()

    return make


MODELS: dict[str, Callable[[], nn.Module]] = {
    "lenet": LeNet,
    "resnet18-d2l": resnet18_d2l,
    "resnet50": of_torchvision("resnet50"),
    "mobilenet-v2": of_torchvision("mobilenet_v2"),
}
