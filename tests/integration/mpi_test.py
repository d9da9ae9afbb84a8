#!/usr/bin/env python3
"""Jobs of several ranks: the bits of one process, stops and deaths that end the whole job.

    mpi_test.py PROGRAM MPIRUN HOSTS [ARGUMENTS OF unittest]

HOSTS is scripts/netns/run, which emulates machines where it may.
"""
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from background import PATIENCE, Background, run, wait_until

PROGRAM, MPIRUN, HOSTS = sys.argv[1:4]
SIDE = 18  # of an image
RECIPE = ["--dataset", "small", "--model", "cnn_bn", "--epochs", "3", "--batch-size", "96", "--shards", "4",
          "--augment", "crop:1,flip", "--optimizer", "adamw", "--ema", "0.9"]
ENDLESS = ["--dataset", "small", "--model", "mlp", "--epochs", "100000", "--batch-size", "96"]


def write_idx(path, kind, sizes, values):
    path.write_bytes(struct.pack(f">I{len(sizes)}I", kind, *sizes) + bytes(values))


def write_split(folder, name, count):
    """Images of ten classes: a bright bar whose place tells the class."""
    labels = [random.randrange(10) for _ in range(count)]
    pixels = [random.randrange(256 if label + 3 <= row < label + 6 else 160)
              for label in labels for row in range(SIDE) for _ in range(SIDE)]
    write_idx(folder / f"{name}-images-idx3-ubyte", 0x803, [count, SIDE, SIDE], pixels)
    write_idx(folder / f"{name}-labels-idx1-ubyte", 0x801, [count], labels)


class MpiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockring mpi ")
        cls.root = Path(cls.temporary.name)
        random.seed(1)
        raw = cls.root / "raw"
        raw.mkdir()
        write_split(raw, "train", 700)
        write_split(raw, "t10k", 100)
        subprocess.run([PROGRAM, "data", "ingest", "--dataset", "small", "--source", raw, "--data-dir",
                        cls.root / "data", "--quiet"], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def command(self, ranks, folder, *more, recipe=RECIPE):
        job = [MPIRUN, "--oversubscribe", "-np", str(ranks)] if ranks else []
        return [*job, PROGRAM, "train", *recipe, "--data-dir", self.root / "data", "--run-dir", folder, *more]

    def environment(self, **more):
        return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}

    def train(self, ranks, name, *more, recipe=RECIPE, code=0):
        folder = self.root / name
        result = run(self, self.command(ranks, folder, "--quiet", *more, recipe=recipe), env=self.environment())
        self.assertEqual(result.returncode, code, result.stderr)
        return folder, result

    @staticmethod
    def is_training(folder):
        metrics = folder / "metrics.jsonl"
        return metrics.exists() and metrics.stat().st_size > 0

    def start(self, ranks, name, *more, **environment):
        """A job that is in the middle of its training, and the process ids of its ranks."""
        folder = self.root / name
        process = Background(self, self.command(ranks, folder, *more, recipe=ENDLESS), env=self.environment(**environment))
        wait_until(lambda: self.is_training(folder), process)
        return folder, process, [self.rank_of(rank, folder) for rank in range(ranks)]

    def test_one_checkpoint_from_any_placement(self):
        alone, _ = self.train(0, "alone", "--replicas", "1")
        expected = (alone / "last.safetensors").read_bytes()
        for ranks, replicas in ((1, "2"), (2, "1"), (2, "2"), (4, "1")):
            folder, result = self.train(ranks, f"{ranks} x {replicas}", "--replicas", replicas, "--json")
            self.assertEqual((folder / "last.safetensors").read_bytes(), expected, f"{ranks} ranks of {replicas}")
            self.assertEqual((folder / "best.safetensors").read_bytes(), (alone / "best.safetensors").read_bytes())
            self.assertEqual(json.loads(result.stdout)["replicas"], ranks * int(replicas), "one rank prints")

    def on_hosts(self, hosts, ranks_per_host, name, *more, recipe=RECIPE):
        folder = self.root / name
        command = [HOSTS, "--hosts", str(hosts), "--ranks-per-host", str(ranks_per_host),
                   *self.command(0, folder, "--quiet", "--replicas", "1", *more, recipe=recipe)]
        result = run(self, command)
        if result.returncode == 77:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        return folder

    def test_machines_give_the_same_checkpoint(self):
        alone, _ = self.train(0, "one machine", "--replicas", "1")
        for hosts, ranks in ((2, 1), (2, 2), (4, 1)):
            folder = self.on_hosts(hosts, ranks, f"{hosts} hosts of {ranks}")
            self.assertEqual((folder / "last.safetensors").read_bytes(), (alone / "last.safetensors").read_bytes())

    def test_machines_without_images_change_nothing(self):
        """Four shards of a batch of three: one machine has none, another one in each step that ends an epoch."""
        recipe = [*RECIPE[:RECIPE.index("--batch-size")], "--batch-size", "3", "--shards", "4", "--optimizer", "adam",
                  "--max-steps", "25", "--bucket-bytes", "4K"]
        alone, _ = self.train(0, "few images", "--replicas", "1", recipe=recipe)
        folder = self.on_hosts(4, 1, "few images on each", recipe=recipe)
        self.assertEqual((folder / "last.safetensors").read_bytes(), (alone / "last.safetensors").read_bytes())

    def assert_named_once_stopped(self, start, said):
        """What a job says of a rank that is stopped. A busy machine may keep others from their cores as well, for
        seconds: then those are missing too, until all have more patience."""
        for patience in (5, 20, 80):
            process, rank = start(patience)
            os.kill(rank, signal.SIGSTOP)
            _, errors = process.communicate()
            self.assertNotEqual(process.returncode, 0)
            expected = said.format(patience=patience)
            if re.search(expected, errors):
                return
        self.assertRegex(errors, expected)

    def test_a_stopped_machine_is_named(self):
        """Three in a ring: the one before the stopped one waits for it, and the next for that one."""
        def start(patience):
            folder = self.root / f"stopped machine {patience}"
            options = ["--replicas", "1", "--timeout", patience]
            process = Background(self, [HOSTS, "--hosts", "3", *self.command(0, folder, *options, recipe=ENDLESS)])
            wait_until(lambda: self.is_training(folder) or process.poll() is not None)
            if process.poll() == 77:
                self.skipTest(process.communicate()[1].strip())
            return process, self.rank_of(2, folder)

        self.assert_named_once_stopped(
            start, r"step \d+, \w+: waited more than {patience} s in .*; missing: rank 2 on \S+\n")

    def rank_of(self, rank, folder):
        """The process of a rank of the job that writes to a folder."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (str(folder).encode() in (process / "cmdline").read_bytes().split(b"\0")
                        and f"OMPI_COMM_WORLD_RANK={rank}".encode() in (process / "environ").read_bytes().split(b"\0")):
                    return int(process.name)
            except OSError:
                continue
        self.fail(f"rank {rank} is not there")

    def test_three_machines_in_a_ring_repeat_their_bits(self):
        recipe = [*RECIPE[:RECIPE.index("--shards")], "--allreduce", "ring"]
        first = self.on_hosts(3, 1, "ring", recipe=recipe)
        again = self.on_hosts(3, 1, "ring again", recipe=recipe)
        self.assertEqual((first / "last.safetensors").read_bytes(), (again / "last.safetensors").read_bytes())

    def test_three_ranks_share_what_does_not_divide(self):
        recipe = [*RECIPE[:RECIPE.index("--shards")], "--optimizer", "sgd", "--lr", "0.01"]
        first, _ = self.train(3, "three", "--replicas", "1", recipe=recipe)
        again, _ = self.train(3, "three again", "--replicas", "1", recipe=recipe)
        self.assertEqual((first / "last.safetensors").read_bytes(), (again / "last.safetensors").read_bytes())

    def test_resumes_with_another_number_of_ranks(self):
        whole, _ = self.train(0, "whole", "--replicas", "1")
        folder, _ = self.train(2, "moved", "--replicas", "1", "--max-steps", "9")
        self.train(4, "moved", "--replicas", "1", "--resume")
        self.assertEqual((folder / "last.safetensors").read_bytes(), (whole / "last.safetensors").read_bytes())

    def test_a_signal_to_one_rank_stops_all_at_one_step(self):
        folder, process, ranks = self.start(2, "signalled")
        os.kill(ranks[1], signal.SIGTERM)
        _, errors = process.communicate()
        self.assertIn("go on with: lockring train", errors)
        self.assertEqual(json.loads((folder / "status.json").read_text())["state"], "stopped")

    def test_a_killed_rank_ends_the_job(self):
        """Long before anybody loses his patience. mpirun gives the other some seconds to say so, which a busy machine may
        use up: one of three tries must do."""
        said = r"rank \d on \S+, step \d+, .*: rank \d on \S+ \(step \d+, \w+\) has died"
        for attempt in range(3):
            _, process, ranks = self.start(2, f"killed {attempt}", "--timeout", 10 * PATIENCE,
                                           OMPI_MCA_odls_base_sigkill_timeout="5")
            os.kill(ranks[1], signal.SIGKILL)
            _, errors = process.communicate()
            self.assertNotEqual(process.returncode, 0)
            if re.search(said, errors):
                return
        self.assertRegex(errors, said)

    def test_a_stopped_rank_is_named(self):
        def start(patience):
            _, process, ranks = self.start(2, f"stopped {patience}", "--timeout", patience)
            return process, ranks[1]

        self.assert_named_once_stopped(
            start, r"rank 0 on \S+, step \d+, .*: waited more than {patience} s .*; missing: rank 1 on \S+ "
                   r"\(step \d+, \w+\)")
        self.assertFalse([name for name in os.listdir("/dev/shm") if "lockring" in name])

    def two_commands(self, name, first, second):
        """What a job says of which each rank gets options of its own."""
        options = ["--data-dir", self.root / "data", "--run-dir", self.root / name, "--quiet"]
        command = [MPIRUN, "--oversubscribe"]
        for more in (first, second):
            command += ["-np", "1", PROGRAM, "train", "--dataset", "small", *options, *more, ":"]
        return run(self, command[:-1], env=self.environment())

    def test_ranks_that_are_asked_for_something_else_are_refused(self):
        result = self.two_commands("model", ["--model", "mlp"], ["--model", "lenet"])
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"rank 0 on \S+ has 'dense1.weight .*', rank 1 on \S+ has 'conv1.weight")
        result = self.two_commands("rate", [], ["--lr", "0.5"])
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"the recipe in common: rank 0 on \S+ has 'lr 0.001', rank 1 on \S+ has 'lr 0.5'")

    def test_ranks_that_cannot_share_memory_send_messages(self):
        """The rank that would make the memory may write no file; the other could."""
        bench = [PROGRAM, "bench", "allreduce", "--bytes", "4K", "--seconds", "0.01", "--json"]
        command = [MPIRUN, "--oversubscribe", "--mca", "btl", "self,tcp", "-np", "1", "sh", "-c",
                   'ulimit -f 0; exec "$0" "$@"', *bench, ":", "-np", "1", *bench]
        result = run(self, command, env=self.environment())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)[0]["algorithm"], "ring")

    def test_divergence_ends_all_ranks_with_its_code(self):
        _, result = self.train(2, "diverged", "--lr", "1e30", recipe=ENDLESS, code=5)
        self.assertRegex(result.stderr, r"rank \d on .*: the (loss|gradient|norm)")

    def test_a_mistake_is_named_by_rank(self):
        _, result = self.train(2, "mistaken", "--replicas", "1", "--shards", "3", recipe=ENDLESS, code=2)
        self.assertRegex(result.stderr, r"rank \d on \S+, start: --shards 3 is not a multiple of the 2 replicas")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
