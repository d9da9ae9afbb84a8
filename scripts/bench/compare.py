"""Runs Lockring and other frameworks in turn on the same work, for the compare scripts beside this file.

The peers live in a Python environment of their own, made at first use in the user's cache directory and kept. Every
round runs every contender once, in the same order and as a process of its own, so a machine whose speed drifts disturbs
all alike; a ratio is therefore taken within each round, and the median of those is reported.
"""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import typing
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = {  # of each peer, all pinned in requirements.txt
    "torch": ["torch"],
    "tensorflow": ["tensorflow-cpu"],
    "jax": ["jax"],
    "onnxruntime": ["onnx", "onnxruntime"],
    "openvino": ["onnx", "openvino"],
}


@dataclasses.dataclass
class Metric:
    """What of a contender's result is compared: value(result)."""

    unit: str
    value: typing.Callable[[dict], float]
    higher_is_better: bool = True

    def best(self, names, values):
        """The name with the best median."""
        return (max if self.higher_is_better else min)(names, key=lambda name: statistics.median(values[name]))


def argument_parser(description, peers, models, batch_sizes):
    parser = argparse.ArgumentParser(description=description)
    listed = lambda text: [part for part in text.split(",") if part]
    numbers = lambda text: [int(part) for part in listed(text)]
    parser.add_argument("--models", type=listed, default=models, help="of mlp and cnn (default: %(default)s)")
    parser.add_argument("--batch-sizes", type=numbers, default=batch_sizes, help="default: %(default)s")
    parser.add_argument("--peers", type=listed, default=peers, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=3, help="of each peer's measurement (default: %(default)s)")
    parser.add_argument("--lockring", default=str(ROOT / "build/release/lockring"), help="the program to compare")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the tables")
    return parser


def say(text):
    print(text, file=sys.stderr, flush=True)


def make_environment(peers):
    """Python of the environment, and why each peer that could not be installed is left out."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    python = cache / "lockring/bench-env/bin/python"
    requirements = HERE / "requirements.txt"
    if not python.exists():
        say(f"making a Python environment in {python.parent.parent}")
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    pins = dict(line.strip().split("==") for line in requirements.read_text().splitlines() if "==" in line)
    installed = "import importlib.metadata as m, sys; sys.exit(any(m.version(p) != v for p, v in {}))"
    left_out = {}
    for peer in peers:
        wanted = {package: pins[package] for package in ["numpy", *PACKAGES[peer]]}
        check = [python, "-c", installed.format(list(wanted.items()))]
        if subprocess.run(check, stderr=subprocess.DEVNULL).returncode == 0:
            continue
        say(f"installing {peer}")
        command = [python, "-m", "pip", "install", "--quiet", "--constraint", requirements, *wanted]
        pip = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if pip.returncode != 0:
            errors = [line for line in pip.stderr.splitlines() if line.startswith("ERROR")]
            left_out[peer] = f"could not be installed: {errors[0] if errors else last_line(pip.stderr)}"
    return python, left_out


def last_line(text):
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def run(command):
    """The JSON object that a command prints as its last line; RuntimeError with its last words if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {last_line(done.stderr)}")
    return json.loads(last_line(done.stdout))


def on_hosts(hosts, *command, burst="256k"):
    """What a job of one rank a host prints on emulated hosts (scripts/netns/run). Ends with 77 where there can be none."""
    job = [ROOT / "scripts/netns/run", "--hosts", str(hosts), "--burst", burst, *map(str, command)]
    done = subprocess.run(job, text=True, capture_output=True)
    if done.returncode == 77:
        print(f"skipped: {last_line(done.stderr)}")
        sys.exit(77)
    if done.returncode != 0:
        raise RuntimeError(f"{hosts} hosts, {' '.join(map(str, command))}: {last_line(done.stderr)}")
    return done.stdout


def probe_peers(python, peers, arguments, left_out):
    """Commands of the peers' fastest forms: measures each form of each peer once, and for nothing else."""
    commands = {}
    for peer in peers:
        command = [str(python), str(HERE / "peers" / f"{peer}_peer.py"), *arguments]
        try:
            commands[peer] = [*command, "--form", run(command)["form"]]
        except RuntimeError as error:
            left_out[peer] = f"failed: {error}"
    return commands


def in_turn(commands, rounds):
    """Each contender's results, round by round."""
    results = {name: [] for name in commands}
    for index in range(rounds):
        say(f"  round {index + 1} of {rounds}")
        for name, command in commands.items():
            results[name].append(run(command))
    return results


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compare(case, metric, ours, peers, rounds, left_out, against=()):
    """One case's summary. ours and peers are commands by name; ratios are those of the first of ours to the others of
    ours and to the best peer, or to all in `against`.
    """
    results = in_turn(ours | peers, rounds)
    values = {name: [metric.value(result) for result in each] for name, each in results.items()}
    first, *others = ours
    against = against or others + ([metric.best(peers, values)] if peers else [])
    ratios = {name: spread([a / b for a, b in zip(values[first], values[name])]) for name in against}
    contenders = {}
    for name, each in results.items():
        notes = {key: each[-1][key] for key in ("version", "form", "micro_batch") if key in each[-1]}
        if "peak_share" in each[-1]:
            notes["peak_share"] = statistics.median(result["peak_share"] for result in each)
        contenders[name] = {**spread(values[name]), **notes, "values": values[name]}
    return {**case, "unit": metric.unit, "contenders": contenders, "ratios": ratios, "left_out": left_out}


def table(summary, metric):
    case = ", ".join(f"{key.replace('_', ' ')} {summary[key]}" for key in ("batch_size", "threads"))
    lines = [f"{summary['model']}, {case}: {metric.unit}", f"  {'':44}{'median':>10}{'min':>10}{'max':>10}"]
    digits = 0 if metric.higher_is_better else 1
    columns = lambda it, digits: "".join(f"{it[key]:>10,.{digits}f}" for key in ("median", "min", "max"))
    row = lambda name, it, digits: f"  {name:44}" + columns(it, digits)
    for name, it in summary["contenders"].items():
        note = " ".join(str(it[key]) for key in ("version", "form") if key in it)
        if "peak_share" in it:
            note = f"{it['peak_share']:.0%} of the FMA peak"
        lines.append(row(f"{name} ({note})" if note else name, it, digits))
    for name, it in summary["ratios"].items():
        lines.append(row(f"ratio to {name}", it, 2))
    lines += [f"  left out: {name} {why}" for name, why in summary["left_out"].items()]
    return "\n".join(lines) + "\n"


def main(args, mode, threads, ours, metric_of):
    """Compares every model and batch size. ours(options) gives Lockring's commands by name."""
    try:
        compare_all(args, mode, threads, ours, metric_of)
    except RuntimeError as error:
        sys.exit(f"failed: {error}")


def check_program(program):
    """Exits if it is not there. Returns how busy the machine is."""
    if not os.access(program, os.X_OK):
        sys.exit(f"no program {program}; first: cmake --preset release && cmake --build --preset release")
    load = os.getloadavg()[0]
    if load > 0.5:
        say(f"the machine is busy (load {load:.1f}): expect low and uneven figures")
    return load


def compare_all(args, mode, threads, ours, metric_of):
    unknown = [peer for peer in args.peers if peer not in PACKAGES]
    if unknown:
        sys.exit(f"unknown peer {unknown[0]}; there are {', '.join(PACKAGES)}")
    load = check_program(args.lockring)
    python, missing = make_environment(args.peers)
    summaries = []
    for model in args.models:
        for batch_size in args.batch_sizes:
            say(f"{model}, batch size {batch_size}")
            left_out = dict(missing)
            options = ["--model", model, "--batch-size", str(batch_size)]
            peer_options = [mode, *options, "--threads", str(threads), "--seconds", str(args.seconds)]
            peers = probe_peers(python, [p for p in args.peers if p not in left_out], peer_options, left_out)
            case = {"model": model, "batch_size": batch_size, "threads": threads, "load_average": load}
            metric = metric_of(batch_size)
            summaries.append(compare(case, metric, ours(options), peers, args.rounds, left_out))
            if not args.json:
                print(table(summaries[-1], metric), flush=True)
    if args.json:
        print(json.dumps({"rounds": args.rounds, "seconds": args.seconds, "cases": summaries}))
