"""The parts of a check. Each yields a dictionary: ok, and rows for a table or notes."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bundle
import package

# Recipe, model, precision, and the test accuracy that it must reach.
RECIPES = [("quick", "cnn", "float32", 0.920), ("accurate", "resnet_wide", "float32", 0.940),
           ("accurate", "resnet_wide", "bf16", 0.940)]
MODELS = ("mlp", "cnn", "resnet")
# Of the GPU's dense products with float32 inputs rounded to TF32, in TFLOP/s, by a part of its name.
PEAKS = {"H200": 494.7, "H100": 494.7, "A100": 156.0, "B200": 1100.0}
# Products of bfloat16 are twice as fast.
PRECISIONS = {"float32": 1, "bf16": 2}
# Norm of the difference of a device's gradient to the CPU's, against the CPU's norm, without TF32.
MOST_DIFFERENCE = 1e-3
# The same in bfloat16, which keeps eight bits: far less than a mistake would make.
MOST_DIFFERENCE_OF_BF16 = 0.2
# A first step long enough that rounding parameters does not hide the gradient.
PROBE_RATE = 100.0


class Check:
    def __init__(self, root, args, deadline):
        self.root, self.args, self.deadline = root, args, deadline
        self.programs = package.programs(args.build)
        self.environment = package.environment(root)
        self.folder = tempfile.TemporaryDirectory(prefix="lockring-gpu-check-")
        self.work = Path(self.folder.name)
        self.dataset_ready = False
        self.gpu_name = ""
        self.notes = []  # of the programs, in this part
        self.figures = {}  # by what, model and batch

    def run(self, name):
        """What a part found out, with what the programs had to note. Whatever happens in it is a part of the report."""
        self.notes = []
        try:
            result = PARTS[name](self)
        except Exception as error:
            result = {"ok": False, "notes": [str(error) if isinstance(error, RuntimeError) else repr(error)]}
        if self.notes:
            result["notes"] = [*result.get("notes", []), *dict.fromkeys(self.notes)]
        return result

    def call(self, command, limit=120, **environment):
        """What a command prints; RuntimeError with its last words if it fails or takes longer than it may."""
        own = command[0] in self.programs.values()
        left = min(limit, self.deadline - time.monotonic())
        words = " ".join(map(str, command))
        if left < 1:
            raise RuntimeError(f"no time is left for: {words}")
        try:
            done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=left, env=(self.environment if own else os.environ) | environment,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"took more than {left:.0f} s: {words}") from None
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
            raise RuntimeError(f"exit code {done.returncode}: {words}: {' / '.join(said)}")
        self.notes += [line for line in done.stderr.splitlines() if line.startswith("note: ")]
        return done.stdout

    def lockring(self, *words, limit=120, **environment):
        return json.loads(self.call([self.programs["lockring"], *words, "--json"], limit, **environment))

    def data_options(self):
        """Of a data set that is ingested once."""
        options = ["--data-dir", self.work / "data"]
        if not self.dataset_ready:
            brought = self.root / "data"
            source = self.args.source or (brought if brought.is_dir() and any(brought.glob("*ubyte*")) else None)
            self.lockring("data", "ingest", *options, *(["--source", source] if source else []))
            self.dataset_ready = True
        return options

    def train(self, name, *words, device=None, limit=120, **environment):
        """The summary of a training, with the lines of its metrics and its bundle."""
        folder = self.work / f"{name}-{len(list(self.work.iterdir()))}"
        device = device or self.args.device
        result = self.lockring("train", *words, *self.data_options(), "--device", device, "--run-dir", folder, "--quiet",
                               limit=limit, **environment)
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        self.notes += [line for line in (folder / "log.txt").read_text().splitlines() if line.startswith("note: ")]
        return result | {"epochs_done": [json.loads(line) for line in lines], "folder": folder}


def on_gpu(check):
    return check.args.device.startswith("cuda")


def machine(check):
    report = check.lockring("doctor")
    gpus = report.get("gpus", {})
    devices = gpus.get("devices", [])
    check.gpu_name = devices[0].get("name", "") if devices else ""
    notes = [f"{key}: {gpus[key]}" for key in ("missing", "driver", "cuda", "cudnn", "cublas", "nccl") if gpus.get(key)]
    notes += [f"{device.get('name')}, capability {device.get('capability')}" for device in devices]
    wanted = on_gpu(check)
    if wanted and not devices:
        notes.append("there is no GPU here, so nothing else was tried")
    return {"ok": bool(devices) or not wanted, "name": check.gpu_name or "the CPU", "notes": notes}


def tests(check):
    """Every test program, in a third of the time; in the smoke those of the runtime and of NCCL."""
    rows, until = [], time.monotonic() + (check.deadline - time.monotonic()) / 3
    for name, program in check.programs.items():
        if not name.endswith("tests") or (check.args.smoke and name not in ("core tests", "nccl tests")):
            continue
        start = time.monotonic()
        row = {"program": name}
        try:
            output = check.call([program, "--gtest_brief=1"], max(until - start, 1), NVIDIA_TF32_OVERRIDE="0")
            counts = {word: int(count) for word, count in re.findall(r"\[  (PASSED|SKIPPED) +\] (\d+) test", output)}
            row |= {"passed": counts.get("PASSED", 0), "skipped": counts.get("SKIPPED", 0), "ok": True}
        except RuntimeError as error:
            row |= {"ok": False, "said": str(error)[-300:]}
        rows.append(row | {"seconds": time.monotonic() - start})
    return {"ok": all(row["ok"] for row in rows), "rows": rows,
            "notes": [] if rows else ["there are no test programs in the built tree"]}


def first_step(check, model, rate, device, products):
    """A training of one plain step on a batch of 128."""
    return check.train(f"step-{model}", "--model", model, "--max-steps", 1, "--optimizer", "sgd", "--momentum", 0, "--lr", rate,
                       "--val-fraction", 0, "--replicas", 1, "--precision", "bf16" if products == "bf16" else "float32",
                       device=device, **({"NVIDIA_TF32_OVERRIDE": "0"} if products == "float32" else {}))


def most_differences(check):
    """What the GPU multiplies, and how far the gradient may be from the CPU's."""
    kinds = [("float32", MOST_DIFFERENCE), ("TF32", None), ("bf16", MOST_DIFFERENCE_OF_BF16)]
    return kinds if on_gpu(check) else kinds[:2]


def agreement(check):
    """Loss and gradient of the first step: a step of plain descent moves the parameters by the gradient."""
    rows = []
    for model in MODELS[1:2] if check.args.smoke else MODELS:
        start = bundle.read(first_step(check, model, 1e-30, "cpu", "float32")["folder"] / "last.safetensors")
        reference = first_step(check, model, PROBE_RATE, "cpu", "float32")
        expected = bundle.read(reference["folder"] / "last.safetensors")
        length = bundle.norm_of_difference(start, expected)
        for products, most in most_differences(check):
            run = first_step(check, model, PROBE_RATE, check.args.device, products)
            found = bundle.read(run["folder"] / "last.safetensors")
            difference = bundle.norm_of_difference(expected, found) / length
            rows.append({"model": model, "products": products, "loss on the CPU": reference["epochs_done"][-1]["train_loss"],
                         "loss": run["epochs_done"][-1]["train_loss"], "gradient norm": length / PROBE_RATE,
                         "relative difference of gradients": difference, "ok": most is None or difference <= most})
    return {"ok": all(row["ok"] for row in rows), "rows": rows}


def seconds_to(accuracy, epochs):
    """Of training, until the held-out images were first classified so well; None if never."""
    seconds = 0
    for epoch in epochs:
        seconds += epoch["seconds"]
        if epoch.get("val_accuracy", 0) >= accuracy:
            return seconds
    return None


def accuracy(check):
    rows = []
    for recipe, model, precision, least in RECIPES[:1] if check.args.smoke else RECIPES:
        if precision != "float32" and not on_gpu(check):
            continue
        limit = ["--max-steps", 20] if check.args.smoke else []
        run = check.train(f"recipe-{recipe}", "--recipe", recipe, "--model", model, "--precision", precision, *limit,
                          limit=200)
        rows.append({"recipe": recipe, "model": model, "precision": precision, "test accuracy": run["test_accuracy"], "wanted": least,
                     "seconds to it": seconds_to(least, run["epochs_done"]), "seconds in all": run["wall_seconds"],
                     "images/s": run["images_per_second"],
                     "ok": check.args.smoke or run["test_accuracy"] >= least})
    return {"ok": all(row["ok"] for row in rows), "rows": rows}


def shapes(check, sizes):
    return [("cnn", sizes[0])] if check.args.smoke else [(model, size) for model in MODELS for size in sizes]


def bench(check, what, model, size, *words):
    """Our figures; the best are kept for the comparison."""
    figures = check.lockring("bench", what, "--model", model, "--batch-size", size, "--device", check.args.device,
                             "--seconds", "0.3" if check.args.smoke else "1", *words)
    best = check.figures.get((what, model, size))
    if best is None or best["images_per_second"] < figures["images_per_second"]:
        check.figures[what, model, size] = figures
    return figures


def training(check):
    adds = {model["name"]: model["multiply_adds"] for model in check.lockring("models")["models"]}
    peak = next((value for name, value in PEAKS.items() if name in check.gpu_name), None)
    rows = []
    for model, size in shapes(check, (128, 1024)):
        for precision, speed in PRECISIONS.items() if on_gpu(check) else [("float32", 1)]:
            figures = bench(check, "train", model, size, "--precision", precision)
            rate = figures["images_per_second"]
            row = {"model": model, "batch": size, "precision": precision, "images/s": rate, "step us": figures["step_us_p50"]}
            if on_gpu(check):  # what the recording of steps gains
                singly = bench(check, "train", model, size, "--precision", precision, "--no-graphs")
                row |= {"recorded": bool(figures["recorded"]), "images/s, launched singly": singly["images_per_second"]}
            # Forward, and twice as much backward.
            row["share of the products' peak"] = rate * 6 * adds[model] / (peak * speed * 1e12) if peak else None
            rows.append(row)
    return {"ok": True, "rows": rows}


def inference(check):
    rows = []
    for model, size in shapes(check, (1, 128, 1024)):
        figures = bench(check, "infer", model, size)
        rows.append({"model": model, "batch": size, "images/s": figures["images_per_second"],
                     "latency us, median": figures["latency_us_p50"], "latency us, 99 %": figures["latency_us_p99"]})
    return {"ok": True, "rows": rows}


def pytorch(check):
    """Beside what was measured before, on as many shapes as there is time for: compiling takes long."""
    try:
        check.call([sys.executable, "-c", "import torch"], 60)
    except RuntimeError:
        return {"ok": True, "notes": ["PyTorch is not installed"]}
    peer = check.root / "scripts/bench/peers/torch_gpu_peer.py"
    rows, notes = [], []
    for (what, model, size), ours in check.figures.items():
        try:
            theirs = json.loads(check.call(
                [sys.executable, peer, what, "--model", model, "--batch-size", size, "--device",
                 "cuda" if on_gpu(check) else check.args.device,
                 "--seconds", "0.2" if check.args.smoke else "0.5"], 120))
        except RuntimeError as error:
            notes.append(f"{what} {model} {size}: {error}")
            continue
        rates = {form: figures["images_per_second"] for form, figures in theirs["forms"].items()}
        row = {"what": what, "model": model, "batch": size, "Lockring": ours["images_per_second"]}
        rows.append(row | rates | {"ratio to the best": ours["images_per_second"] / max(rates.values())})
        if f"PyTorch {theirs['version']}" not in notes:
            notes.insert(0, f"PyTorch {theirs['version']}")
    return {"ok": True, "rows": rows, "notes": ["images a second", *notes]}


def nccl(check):
    """Between as many GPUs as there are; one shows that NCCL starts."""
    if not on_gpu(check):
        return {"ok": True, "notes": ["between GPUs only"]}
    count = len(check.lockring("doctor")["gpus"]["devices"])
    rows = check.lockring("bench", "allreduce", "--allreduce", "nccl", "--replicas", count, "--bytes", "4K..64M",
                          "--seconds", "0.1")
    return {"ok": True, "rows": [{key: row[key] for key in ("bytes", "replicas", "time_us", "algbw_gbs", "busbw_gbs")}
                                 for row in rows]}


PARTS = {"machine": machine, "tests": tests, "agreement": agreement, "accuracy": accuracy, "nccl": nccl,
         "training": training, "inference": inference, "pytorch": pytorch}
