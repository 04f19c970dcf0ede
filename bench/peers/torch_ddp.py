"""Trains a network with PyTorch on CPU, on Fashion-MNIST or synthetic images, and prints images/s of each epoch.

One process:  python torch_ddp.py --threads 2 --channels-last --compile
Two ranks:    torchrun --standalone --nproc-per-node 2 torch_ddp.py --channels-last

A short last batch of an epoch is left out. Seconds are those of training alone.
"""

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import fashion_mnist
from fashion_mnist import Samples
from models import MODELS

RANK = int(os.environ.get("RANK", 0))
RANKS = int(os.environ.get("WORLD_SIZE", 1))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="lenet")
    parser.add_argument("--batch-size", type=int, default=256, help="samples of a step over all ranks")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--max-steps", type=int, default=0, help="maximum number of steps per epoch; 0: all")
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="threads of each rank")
    parser.add_argument("--channels-last", action="store_true", help="memory format of images and weights")
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--compile", action="store_true", help="torch.compile, needs a C++ compiler")
    parser.add_argument("--synthetic", type=int, nargs=4, metavar=("SAMPLES", "C", "H", "W"),
                        help="synthetic images of 1000 classes instead of Fashion-MNIST")
    return parser.parse_args()


def made_up(samples: int, *shape: int) -> Samples:
    return Samples(torch.rand(samples, *shape), torch.randint(1000, (samples,)))


def batches_in_memory(train: Samples, size: int, seed: int, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
    """This rank's part of each global batch; one permutation for all ranks."""
    generator = torch.Generator().manual_seed(seed + epoch)
    order = torch.randperm(len(train.labels), generator=generator)[RANK::RANKS]
    for begin in range(0, len(order) - size + 1, size):
        ids = order[begin : begin + size]
        yield train.images[ids], train.labels[ids]


def train_epoch(options: argparse.Namespace, model: nn.Module, optimizer: torch.optim.Optimizer,
                batches: Iterator[tuple[Tensor, Tensor]]) -> tuple[int, float]:
    """Trains an epoch; returns the number of steps and the loss of the last one."""
    cross_entropy = nn.CrossEntropyLoss()
    precision = torch.autocast("cpu", dtype=torch.bfloat16) if options.bf16 else nullcontext()
    steps = 0
    for images, labels in batches:
        if options.channels_last:
            images = images.to(memory_format=torch.channels_last)
        optimizer.zero_grad()
        with precision:
            loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        steps += 1
        if steps == options.max_steps:
            break
    return steps, loss.item()


def main() -> None:
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    if RANKS > 1:
        dist.init_process_group("gloo")

    train = made_up(*options.synthetic) if options.synthetic else fashion_mnist.load()
    network = MODELS[options.model]()
    if options.channels_last:
        network = network.to(memory_format=torch.channels_last)
    model: nn.Module = DistributedDataParallel(network) if RANKS > 1 else network
    if options.compile:
        model = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), options.lr)

    for epoch in range(1, options.epochs + 1):
        batches = batches_in_memory(train, options.batch_size // RANKS, options.seed, epoch)
        start = time.perf_counter()
        steps, loss = train_epoch(options, model, optimizer, batches)
        seconds = time.perf_counter() - start
        if RANK == 0:
            speed = steps * options.batch_size / seconds
            print(f"epoch {epoch}/{options.epochs}  last loss {loss:.4f}  {seconds:.2f} s  {speed:.1f} img/s", flush=True)
    if RANKS > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
