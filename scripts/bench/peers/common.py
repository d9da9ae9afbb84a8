"""What every peer script shares: its command line, the data, and the clock.

Usage: NAME_peer.py train|infer --model M --batch-size N --threads T --seconds S [--form F]

A form is one way to use the framework (compiled or not, one memory layout or another). Without --form every form is
measured and the fastest one is reported, with its name; with it, only that one. One JSON line goes to standard output.
"""

import argparse
import gzip
import json
import os
import statistics
import time

import numpy as np

DATASET = "/usr/share/datasets/fashion-mnist"
IMAGES = 60000
LEARNING_RATE = 1e-3  # Adam's usual one, in every peer


def load_data():
    """Fashion-MNIST's training images [60000,28,28] and labels [60000] as bytes; random ones where it is missing."""
    if not os.path.isdir(DATASET):
        rng = np.random.default_rng(0)
        return rng.integers(0, 256, (IMAGES, 28, 28), np.uint8), rng.integers(0, 10, IMAGES).astype(np.uint8)
    read = lambda name, header: np.frombuffer(gzip.open(f"{DATASET}/{name}").read(), np.uint8, offset=header).copy()
    images = read("train-images-idx3-ubyte.gz", 16).reshape(IMAGES, 28, 28)
    return images, read("train-labels-idx1-ubyte.gz", 8)


def batches(batch_size):
    """Endless index arrays of shuffled whole batches, as a training loop draws them."""
    rng = np.random.default_rng(0)
    while True:
        order = rng.permutation(IMAGES)
        for start in range(0, IMAGES - batch_size + 1, batch_size):
            yield order[start : start + batch_size]


def inputs(batch_size):
    """One inference batch in [0,1), [batch,28,28,1]."""
    return np.random.default_rng(0).random((batch_size, 28, 28, 1), np.float32)


def measure_training(step, finish, batch_size, seconds):
    """Images per second of step(), in the steady state; finish() waits for all steps begun so far."""
    for _ in range(5):
        step()
    finish()

    def time_of(steps):
        start = time.perf_counter()
        for _ in range(steps):
            step()
        finish()
        return time.perf_counter() - start

    step_time = time_of(5) / 5
    steps = max(5, round(seconds / step_time))
    return {"images_per_second": batch_size * steps / time_of(steps)}


def measure_inference(call, batch_size, seconds):
    """Latencies of call(), which must return only when its answer is there."""
    for _ in range(20):
        call()
    latencies = []
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline or len(latencies) < 10:
        start = time.perf_counter()
        call()
        latencies.append((time.perf_counter() - start) * 1e6)
    percentiles = statistics.quantiles(latencies, n=100)
    return {
        "latency_us_p50": percentiles[49],
        "latency_us_p99": percentiles[98],
        "images_per_second": batch_size * len(latencies) / (sum(latencies) * 1e-6),
    }


def main(version, train=None, infer=None):
    """Runs a peer script. train(model) and infer(model) give its forms: a name and a function of (model, batch_size,
    threads), which returns the pair (step, finish) of measure_training, or the call of measure_inference.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["train", "infer"])
    parser.add_argument("--model", choices=["mlp", "cnn"], required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--form")
    args = parser.parse_args()
    forms = (train if args.mode == "train" else infer)(args.model)
    chosen = {args.form: forms[args.form]} if args.form else forms

    results = []
    for form, prepare in chosen.items():
        prepared = prepare(args.model, args.batch_size, args.threads)
        if args.mode == "train":
            result = measure_training(*prepared, args.batch_size, args.seconds)
        else:
            result = measure_inference(prepared, args.batch_size, args.seconds)
        results.append({"version": version, "form": form, **result})
    if args.mode == "train":
        best = max(results, key=lambda result: result["images_per_second"])
    else:
        best = min(results, key=lambda result: result["latency_us_p50"])
    print(json.dumps(best))
