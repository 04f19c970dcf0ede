"""Trains a network with PyTorch on one GPU on Fashion-MNIST, one setting after another, and prints a line for each:
model, setting, images/s, us of a step. The fields of a setting's name:

  eager, compiled (torch.compile, mode reduce-overhead: CUDA graphs) or tuned (mode max-autotune: likewise)
  memory (all images in the GPU's memory, batches by index there) or loader (DataLoader with workers, pinned memory)
  fp32, tf32 or bf16 (autocast); cl: channels_last

  python torch_gpu.py --model resnet18-d2l --seconds 120
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import fashion_mnist
from fashion_mnist import Samples
from models import MODELS

Batches = Iterator[tuple[Tensor, Tensor]]


class Setting(NamedTuple):
    name: str
    mode: str = ""  # of torch.compile; empty: eager
    loader: bool = False
    dtype: str = "fp32"
    channels_last: bool = False


REDUCED, TUNED = "reduce-overhead", "max-autotune"
# The most telling first: --seconds may end the list.
SETTINGS = {
    "lenet": [
        Setting("compiled_memory_tf32", REDUCED, dtype="tf32"),
        Setting("eager_loader", loader=True, dtype="tf32"),
        Setting("eager_memory_tf32", dtype="tf32"),
        Setting("compiled_memory_tf32_cl", REDUCED, dtype="tf32", channels_last=True),
        Setting("compiled_memory_fp32", REDUCED),
        Setting("compiled_memory_bf16", REDUCED, dtype="bf16"),
        Setting("eager_memory_fp32"),
        Setting("tuned_compiled_memory_tf32", TUNED, dtype="tf32"),
    ],
    "resnet18-d2l": [
        Setting("compiled_memory_bf16_cl", REDUCED, dtype="bf16", channels_last=True),
        Setting("eager_memory_bf16_cl", dtype="bf16", channels_last=True),
        Setting("tuned_compiled_memory_bf16_cl", TUNED, dtype="bf16", channels_last=True),
        Setting("compiled_memory_bf16", REDUCED, dtype="bf16"),
        Setting("eager_loader_bf16_cl", loader=True, dtype="bf16", channels_last=True),
        Setting("eager_memory_tf32_cl", dtype="tf32", channels_last=True),
        Setting("eager_memory_fp32"),
    ],
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", choices=SETTINGS, default="lenet")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=200, help="steps of one measurement; the best of three counts")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=4, help="of the DataLoader")
    parser.add_argument("--seconds", type=float, default=0, help="begin no setting after so many seconds; 0: any time")
    parser.add_argument("--only", help="settings whose names contain this")
    return parser.parse_args()


def batches_in_memory(train: Samples, size: int) -> Batches:
    while True:
        order = torch.randperm(len(train.labels), device="cuda")
        for begin in range(0, len(order) - size + 1, size):
            ids = order[begin : begin + size]
            yield train.images[ids], train.labels[ids]


def batches_of_loader(train: Samples, size: int, workers: int) -> Batches:
    loader = DataLoader(TensorDataset(*train), size, shuffle=True, drop_last=True, num_workers=workers,
                        pin_memory=True, persistent_workers=workers > 0)
    while True:
        for images, labels in loader:
            yield images.cuda(non_blocking=True), labels.cuda(non_blocking=True)


def make_step(network: nn.Module, setting: Setting, lr: float) -> Callable[[Tensor, Tensor], None]:
    optimizer = torch.optim.SGD(network.parameters(), lr)
    cross_entropy = nn.CrossEntropyLoss()
    model = torch.compile(network, mode=setting.mode) if setting.mode else network
    precision = torch.autocast("cuda", torch.bfloat16) if setting.dtype == "bf16" else nullcontext()

    def step(images: Tensor, labels: Tensor) -> None:
        if setting.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        with precision:
            loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def seconds_of(step: Callable[[Tensor, Tensor], None], batches: Batches, steps: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step(*next(batches))
    torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(options: argparse.Namespace, setting: Setting, on_host: Samples, on_gpu: Samples) -> float:
    """Seconds of a step."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest" if setting.dtype == "fp32" else "high")
    torch.backends.cudnn.allow_tf32 = setting.dtype != "fp32"
    network = MODELS[options.model]().cuda()
    if setting.channels_last:
        network = network.to(memory_format=torch.channels_last)
    step = make_step(network, setting, options.lr)
    batches = (batches_of_loader(on_host, options.batch_size, options.workers) if setting.loader
               else batches_in_memory(on_gpu, options.batch_size))
    seconds_of(step, batches, 20)  # compiles, captures, chooses algorithms
    return min(seconds_of(step, batches, options.steps) for _ in range(3)) / options.steps


def main() -> None:
    options = parse_arguments()
    start = time.perf_counter()
    torch.backends.cudnn.benchmark = True
    on_host = fashion_mnist.load("train")
    on_gpu = Samples(on_host.images.cuda(), on_host.labels.cuda())
    for setting in SETTINGS[options.model]:
        if options.only and options.only not in setting.name:
            continue
        if options.seconds and time.perf_counter() - start > options.seconds:
            print(f"{options.model}  {setting.name}  -  no time left", flush=True)
            continue
        try:
            seconds = measure(options, setting, on_host, on_gpu)
        except Exception as error:  # one setting that does not work here must not end the others
            print(f"{options.model}  {setting.name}  -  {type(error).__name__}: {str(error).splitlines()[:1]}", flush=True)
            continue
        print(f"{options.model}  {setting.name}  {options.batch_size / seconds:.0f} img/s  {seconds * 1e6:.1f} us/step",
              flush=True)


if __name__ == "__main__":
    main()
