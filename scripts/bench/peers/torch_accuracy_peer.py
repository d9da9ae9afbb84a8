"""A whole training in PyTorch on the CPU: what its users get to in a few minutes.

The net is Lockring's `resnet`, trained as recipes for small images usually are: one-cycle SGD with Nesterov momentum,
crops and mirror images made a batch at a time, smoothed labels, the data set in memory, channels last. The test set is
classified with each image and its mirror image. One JSON line goes to standard output.
"""

import argparse
import gzip
import json
import time

import common
import numpy as np
import torch
from torch.nn import functional as F
from torch_model import residual_network


def test_data():
    read = lambda name, header: np.frombuffer(gzip.open(f"{common.DATASET}/{name}").read(), np.uint8, offset=header)
    return read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28).copy(), read("t10k-labels-idx1-ubyte.gz", 8).copy()


def tensors(images, labels):
    normalised = (torch.from_numpy(images).float().div_(255) - 0.286) / 0.353
    return normalised.unsqueeze(1), torch.from_numpy(labels).long()


def augmented(x, rng):
    dx, dy = (int(shift) for shift in rng.integers(-1, 2, 2))
    x = torch.roll(x, (dy, dx), (2, 3))
    mirrored = torch.from_numpy(rng.random(len(x)) < 0.5)
    x[mirrored] = x[mirrored].flip(3)
    return x.contiguous(memory_format=torch.channels_last)


def train(net, images, labels, args):
    rng = np.random.default_rng(args.seed)
    steps = len(images) // args.batch_size
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.4, total_steps=steps * args.epochs, pct_start=0.3)
    for _ in range(args.epochs):
        order = torch.from_numpy(rng.permutation(len(images)))
        for batch in order[: steps * args.batch_size].split(args.batch_size):
            loss = F.cross_entropy(net(augmented(images[batch], rng)), labels[batch], label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()


@torch.no_grad()
def accuracy(net, images, labels):
    net.eval()
    right = 0
    for x, y in zip(images.split(500), labels.split(500)):
        right += (net(x) + net(x.flip(3))).argmax(1).eq(y).sum().item()
    return right / len(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    net = residual_network(args.width).to(memory_format=torch.channels_last)
    images, labels = tensors(*common.load_data())
    start = time.perf_counter()
    train(net, images, labels, args)
    seconds = time.perf_counter() - start
    right = accuracy(net, *tensors(*test_data()))
    print(json.dumps({"version": torch.__version__, "train_seconds": seconds, "test_accuracy": right}))


main()
