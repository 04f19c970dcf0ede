"""Repeats the first steps of a lockstep run with PyTorch: the same weights, the same samples, the same rule.

    lockstep train --epochs 0 --seed 0 --save-model init.safetensors
    lockstep data order --dataset fashion-mnist --seed 0 --epoch 1 > order.txt
    python replay.py --weights init.safetensors --order order.txt --lr 0.2 --output losses.json

writes the mean loss over each global batch before its update. It must agree with the step events of the run's
metrics.jsonl up to rounding. Two variants show the effect of rounding: --micro-batches 8 adds the gradients and losses
of eighths of a batch, as lockstep does, and --float64 computes in double precision.
"""

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from compact_json import write
from safetensors.torch import load_file

import fashion_mnist
from models import MODELS


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True, help="model file to start from")
    parser.add_argument("--order", type=Path, nargs="+", required=True,
                        help="for each epoch, a file of sample ids, one per line, in the order of visits")
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--model", choices=MODELS, default="lenet")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=256, help="the last batch of an epoch may be shorter")
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0, help="of the run; only noted in the output")
    parser.add_argument("--micro-batches", type=int, default=1, help="parts of a batch; it must divide the batch size")
    parser.add_argument("--float64", action="store_true", help="compute in double precision")
    return parser.parse_args()


def batches(order_files: list[Path], size: int) -> Iterator[torch.Tensor]:
    """Sample ids of each global batch, epoch after epoch."""
    for file in order_files:
        yield from torch.from_numpy(np.loadtxt(file, dtype=np.int64)).split(size)


def replay(options: argparse.Namespace) -> list[float]:
    """The loss of each step."""
    train = fashion_mnist.load()
    network = MODELS[options.model]()
    network.load_state_dict(load_file(options.weights))
    network.train()  # batch norm uses the statistics of each part of a batch
    dtype = torch.float64 if options.float64 else torch.float32
    network.to(dtype)
    optimizer = torch.optim.SGD(network.parameters(), options.lr, options.momentum, weight_decay=options.weight_decay)

    losses = []
    for ids in itertools.islice(batches(options.order, options.batch_size), options.steps):
        optimizer.zero_grad()
        loss_sum = 0.0
        for part in ids.split(options.batch_size // options.micro_batches):
            logits = network(train.images[part].to(dtype))
            loss = F.cross_entropy(logits, train.labels[part], reduction="sum")
            (loss / len(ids)).backward()
            loss_sum += loss.item()
        optimizer.step()
        losses.append(loss_sum / len(ids))
    return losses


def main() -> None:
    options = parse_arguments()
    if options.batch_size % options.micro_batches != 0:
        raise SystemExit(f"--micro-batches {options.micro_batches} does not divide --batch-size {options.batch_size}")
    losses = replay(options)
    if len(losses) < options.steps:
        raise SystemExit(f"the order files hold {len(losses)} steps, not {options.steps}")
    document = {
        "made_by": "bench/peers/replay.py",
        "torch": torch.__version__,
        "dtype": "float64" if options.float64 else "float32",
        "model": options.model,
        "seed": options.seed,
        "batch_size": options.batch_size,
        "micro_batches": options.micro_batches,
        "learning_rate": options.lr,
        "momentum": options.momentum,
        "weight_decay": options.weight_decay,
        "losses": losses,
    }
    write(options.output, document)


if __name__ == "__main__":
    main()
