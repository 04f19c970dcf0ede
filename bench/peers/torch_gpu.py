"""Trains a network with PyTorch on one GPU, one setting after another, and prints for each: model, setting, images/s, us
of a step. LeNet and ResNet-18 train on Fashion-MNIST, the others on random images of 224x224. The fields of a setting's
name:

  eager     step by step
  compiled  torch.compile, mode reduce-overhead: PyTorch makes CUDA graphs of forward and backward
  graph     the whole step is one CUDA graph, of eager or, with "compiled_graph", of compiled kernels
  memory (all images in the GPU's memory, batches by index there) or loader (DataLoader with workers, pinned memory)
  fp32, tf32 or bf16 (autocast); cl: channels_last
  epoch     wall clock over whole epochs, with the choice of the samples
  replay    the graph alone on one batch, timed on the GPU: the fastest that a step can be

  python torch_gpu.py --model resnet18-d2l --seconds 120
  python torch_gpu.py --model ceilings      lines: ceiling, name, number, unit
"""

import argparse
import statistics
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
Step = Callable[[Tensor, Tensor], None]


class Setting(NamedTuple):
    name: str
    mode: str = ""  # of torch.compile; empty: eager
    graph: bool = False  # whether to capture the whole step in a CUDA graph
    loader: bool = False
    dtype: str = "fp32"
    channels_last: bool = False


REDUCED, COMPILED, TUNED = "reduce-overhead", "default", "max-autotune-no-cudagraphs"
# The most important settings come first, because --seconds may cut the list short.
SETTINGS = {
    "lenet": [
        Setting("compiled_graph_memory_tf32", COMPILED, graph=True, dtype="tf32"),
        Setting("compiled_memory_tf32", REDUCED, dtype="tf32"),
        Setting("eager_memory_tf32", dtype="tf32"),
        Setting("graph_memory_tf32", graph=True, dtype="tf32"),
        Setting("compiled_graph_memory_bf16", COMPILED, graph=True, dtype="bf16"),
        Setting("compiled_graph_memory_tf32_cl", COMPILED, graph=True, dtype="tf32", channels_last=True),
        Setting("eager_loader_tf32", loader=True, dtype="tf32"),
        Setting("compiled_graph_memory_fp32", COMPILED, graph=True),
        Setting("tuned_compiled_graph_memory_tf32", TUNED, graph=True, dtype="tf32"),
    ],
    "resnet18-d2l": [
        Setting("compiled_graph_memory_bf16_cl", COMPILED, graph=True, dtype="bf16", channels_last=True),
        Setting("graph_memory_bf16_cl", graph=True, dtype="bf16", channels_last=True),
        Setting("compiled_memory_bf16_cl", REDUCED, dtype="bf16", channels_last=True),
        Setting("eager_memory_bf16_cl", dtype="bf16", channels_last=True),
        Setting("tuned_compiled_graph_memory_bf16_cl", TUNED, graph=True, dtype="bf16", channels_last=True),
        Setting("eager_loader_bf16_cl", loader=True, dtype="bf16", channels_last=True),
        Setting("graph_memory_tf32_cl", graph=True, dtype="tf32", channels_last=True),
    ],
}
LARGE = ("resnet50", "mobilenet-v2")
SETTINGS |= dict.fromkeys(LARGE, [  # compiling takes minutes, so it comes last
    Setting("graph_memory_bf16_cl", graph=True, dtype="bf16", channels_last=True),
    Setting("eager_memory_bf16_cl", dtype="bf16", channels_last=True),
    Setting("compiled_graph_memory_bf16_cl", COMPILED, graph=True, dtype="bf16", channels_last=True),
])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", choices=[*SETTINGS, "ceilings"], default="lenet")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=3, help="the fastest counts")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=4, help="of the DataLoader")
    parser.add_argument("--seconds", type=float, default=0, help="begin no setting after so many seconds; 0: any time")
    parser.add_argument("--only", help="settings whose names contain this")
    return parser.parse_args()


def random_images(count: int) -> Samples:
    return Samples(torch.rand(count, 3, 224, 224), torch.randint(1000, (count,)))


def epoch_in_memory(train: Samples, size: int) -> Batches:
    order = torch.randperm(len(train.labels), device="cuda")
    for begin in range(0, len(order) - size + 1, size):
        ids = order[begin : begin + size]
        yield train.images[ids], train.labels[ids]


def make_loader(train: Samples, size: int, workers: int) -> DataLoader:
    return DataLoader(TensorDataset(*train), size, shuffle=True, drop_last=True, num_workers=workers,
                      pin_memory=True, persistent_workers=workers > 0)


def epoch_of_loader(loader: DataLoader) -> Batches:
    for images, labels in loader:
        yield images.cuda(non_blocking=True), labels.cuda(non_blocking=True)


def make_step(network: nn.Module, setting: Setting, lr: float) -> Step:
    optimizer = torch.optim.SGD(network.parameters(), lr)
    cross_entropy = nn.CrossEntropyLoss()
    model = torch.compile(network, mode=setting.mode) if setting.mode else network

    def step(images: Tensor, labels: Tensor) -> None:
        if setting.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        # A captured step must not use converted weights that were cached outside of it.
        with (torch.autocast("cuda", torch.bfloat16, cache_enabled=not setting.graph) if setting.dtype == "bf16"
              else nullcontext()):
            loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def seconds_on_gpu(work: Callable[[], object]) -> float:
    """Time of the GPU for the work that is submitted."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


class CapturedStep:
    """A step as one CUDA graph. Reads its batch from memory of its own."""

    def __init__(self, step: Step, images: Tensor, labels: Tensor) -> None:
        self.images, self.labels = images.clone(), labels.clone()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(5):  # warms up: compilation and choice of algorithms must not happen during capture
                step(self.images, self.labels)
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            step(self.images, self.labels)

    def __call__(self, images: Tensor, labels: Tensor) -> None:
        self.images.copy_(images)
        self.labels.copy_(labels)
        self.graph.replay()

    def seconds_of_replays(self, replays: int) -> float:
        """Seconds of one replay of the captured step."""

        def replay_all() -> None:
            for _ in range(replays):
                self.graph.replay()

        return seconds_on_gpu(replay_all) / replays

    def seconds_of_replay(self) -> float:
        """Median over seven groups of about 0.1 s."""
        replays = max(2, round(0.1 / self.seconds_of_replays(5)))
        return statistics.median(self.seconds_of_replays(replays) for _ in range(7))


def seconds_of_epoch(step: Step, batches: Batches) -> float:
    """Wall clock of a step: that of a whole epoch, over its steps."""
    steps = 0
    torch.cuda.synchronize()
    start = time.perf_counter()
    for batch in batches:
        step(*batch)
        steps += 1
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def measure(options: argparse.Namespace, setting: Setting, on_host: Samples, on_gpu: Samples) -> dict[str, float]:
    """Seconds of a step, for each way of timing."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest" if setting.dtype == "fp32" else "high")
    torch.backends.cudnn.allow_tf32 = setting.dtype != "fp32"
    network = MODELS[options.model]().cuda()
    if setting.channels_last:
        network = network.to(memory_format=torch.channels_last)
    step = make_step(network, setting, options.lr)
    loader = make_loader(on_host, options.batch_size, options.workers) if setting.loader else None

    def epoch() -> Batches:
        return epoch_of_loader(loader) if loader else epoch_in_memory(on_gpu, options.batch_size)

    seconds = {}
    if setting.graph:
        step = CapturedStep(step, *next(epoch_in_memory(on_gpu, options.batch_size)))
        seconds["replay"] = step.seconds_of_replay()
    # The first epoch is not counted: it may include compilation, capture and choice of algorithms.
    seconds["epoch"] = min([seconds_of_epoch(step, epoch()) for _ in range(1 + options.epochs)][1:])
    return seconds


def print_ceilings() -> None:
    """Prints what memory and tensor cores of this GPU reach: medians of ten, on random data."""

    def seconds_of(work: Callable[[], object]) -> float:
        return statistics.median([seconds_on_gpu(work) for _ in range(13)][3:])

    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    print(f"ceiling copy {2 * source.nbytes / seconds_of(lambda: target.copy_(source)) / 1e9:.0f} GB/s", flush=True)
    del source, target
    size = 8192
    for name, dtype in (("bf16", torch.bfloat16), ("tf32", torch.float32)):
        torch.set_float32_matmul_precision("high")
        a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
        c = torch.empty_like(a)
        seconds = seconds_of(lambda: torch.mm(a, b, out=c))
        print(f"ceiling gemm_{name} {2 * size**3 / seconds / 1e12:.0f} TFLOP/s", flush=True)


def main() -> None:
    options = parse_arguments()
    if options.model == "ceilings":
        print_ceilings()
        return
    start = time.perf_counter()
    torch.backends.cudnn.benchmark = True
    on_host = random_images(8 * options.batch_size) if options.model in LARGE else fashion_mnist.load()
    on_gpu = Samples(on_host.images.cuda(), on_host.labels.cuda())
    for setting in SETTINGS[options.model]:
        if options.only and options.only not in setting.name:
            continue
        if options.seconds and time.perf_counter() - start > options.seconds:
            print(f"{options.model}  {setting.name}  -  no time left", flush=True)
            continue
        try:
            measured = measure(options, setting, on_host, on_gpu)
        except Exception as error:  # one setting that does not work here must not end the others
            print(f"{options.model}  {setting.name}  -  {type(error).__name__}: {str(error).splitlines()[:1]}", flush=True)
            continue
        for way, seconds in measured.items():
            print(f"{options.model}  {setting.name}_{way}  {options.batch_size / seconds:.0f} img/s  "
                  f"{seconds * 1e6:.1f} us/step", flush=True)


if __name__ == "__main__":
    main()
