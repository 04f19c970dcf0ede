"""Fashion-MNIST as tensors, from the files of the Debian package dataset-fashion-mnist."""

import gzip
import os
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch


class Samples(NamedTuple):
    images: torch.Tensor  # float32, [samples, 1, 28, 28], in [0, 1]
    labels: torch.Tensor  # int64, [samples]


def read_idx(file: Path) -> np.ndarray:
    """Reads the array of bytes in a gzip-compressed IDX file."""
    content = gzip.decompress(file.read_bytes())
    dimensions = content[3]
    shape = struct.unpack(f">{dimensions}I", content[4 : 4 + 4 * dimensions])
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def load() -> Samples:
    """Loads the training set. $FASHION_MNIST names the folder, if it is not that of the package."""
    folder = Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))
    images = torch.tensor(read_idx(folder / "train-images-idx3-ubyte.gz"))
    labels = torch.tensor(read_idx(folder / "train-labels-idx1-ubyte.gz").astype(np.int64))
    return Samples(images.float().div_(255).unsqueeze(1), labels)
