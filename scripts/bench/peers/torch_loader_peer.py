"""PyTorch's DataLoader: Fashion-MNIST as bytes in, normalised batches out, with a crop out of 2 pixels of padding and a
flip at random.

Usage: torch_loader_peer.py --way sample|batch --batch-size N --seconds S [--form F]

With --way sample a data set gives single images, as PyTorch's documentation shows it; with --way batch it gives whole
batches, computed at once by hand-written index arithmetic. A form is a number of workers and, for single images, the
library that changes them. Without --form every form is measured and the fastest one is reported.
"""

import argparse
import json
import time

import common
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

MEAN, DEVIATION, PAD = 0.286, 0.353, 2
WORKERS = (0, 1, 2)


class NumpyImages(Dataset):
    def __init__(self):
        self.images, self.labels = common.load_data()
        self.rng = np.random.default_rng()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        down, right, mirrored = self.rng.integers(0, (2 * PAD + 1, 2 * PAD + 1, 2))
        image = np.pad(self.images[index], PAD)[down : down + 28, right : right + 28]
        image = image[:, ::-1] if mirrored else image
        values = (image * np.float32(1 / 255) - np.float32(MEAN)) / np.float32(DEVIATION)
        return torch.from_numpy(np.ascontiguousarray(values)[None]), int(self.labels[index])


class TorchImages(Dataset):
    def __init__(self):
        images, labels = common.load_data()
        self.images, self.labels = torch.from_numpy(images), torch.from_numpy(labels).long()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        down, right = torch.randint(0, 2 * PAD + 1, (2,)).tolist()
        image = torch.nn.functional.pad(self.images[index], (PAD,) * 4)[down : down + 28, right : right + 28]
        image = image.flip(1) if torch.rand(()) < 0.5 else image
        return image.float().mul_(1 / 255).sub_(MEAN).div_(DEVIATION).unsqueeze(0), self.labels[index]


class WholeBatches(TorchImages):
    def __init__(self):
        super().__init__()
        self.padded = torch.nn.functional.pad(self.images, (PAD,) * 4)

    def __getitems__(self, indices):
        count = len(indices)
        steps = torch.arange(28)
        rows = torch.randint(0, 2 * PAD + 1, (count, 1)) + steps
        columns = torch.where(torch.rand(count, 1) < 0.5, steps.flip(0), steps) + torch.randint(0, 2 * PAD + 1, (count, 1))
        indices = torch.tensor(indices)
        images = self.padded[indices[:, None, None], rows[:, :, None], columns[:, None, :]]
        return images.float().mul_(1 / 255).sub_(MEAN).div_(DEVIATION).unsqueeze(1), self.labels[indices]


def forms(way):
    """A name, the data set and the keyword arguments of the loader."""
    kinds = {"": (WholeBatches, lambda batch: batch)}
    if way == "sample":
        kinds = {"numpy, ": (NumpyImages, None), "torch, ": (TorchImages, None)}
    for name, (dataset, collate) in kinds.items():
        for workers in WORKERS:
            how = {"num_workers": workers, "persistent_workers": workers > 0, "collate_fn": collate}
            yield f"{name}{workers} workers", dataset, how


def measure(dataset, how, batch_size, seconds):
    loader = DataLoader(dataset(), batch_size, shuffle=True, drop_last=True, **how)
    warm_up = 20
    images = 0
    start = None
    while True:
        for index, (batch, _) in enumerate(loader):
            if start is None and index < warm_up:
                continue
            if start is None:
                start = time.perf_counter()
                continue
            images += len(batch)
            if time.perf_counter() - start > seconds:
                return {"images_per_second": images / (time.perf_counter() - start)}


parser = argparse.ArgumentParser()
parser.add_argument("--way", choices=["sample", "batch"], required=True)
parser.add_argument("--batch-size", type=int, required=True)
parser.add_argument("--seconds", type=float, required=True)
parser.add_argument("--form")
args = parser.parse_args()
torch.set_num_threads(2)
results = []
for name, dataset, how in forms(args.way):
    if args.form in (None, name):
        results.append({"version": torch.__version__, "form": name,
                        **measure(dataset, how, args.batch_size, args.seconds)})  # fmt: skip
print(json.dumps(max(results, key=lambda result: result["images_per_second"])))
