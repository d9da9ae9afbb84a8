#!/usr/bin/env python3
"""Ranks that each have a GPU, in the emulated build: they add up by NCCL and train as one replica on the CPU does.

    nccl_ranks_test.py PROGRAM MPIRUN [ARGUMENTS OF unittest]
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import small_data
from background import PATIENCE

PROGRAM, MPIRUN = sys.argv[1:3]
GPUS = 4
SAYS_NCCL = "gradients added up between GPUs by NCCL"


class NcclRanksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockring nccl ")
        cls.root = Path(cls.temporary.name)
        small_data.ingest(PROGRAM, cls.root, "small", 600, 100)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def train(self, ranks, folder, *more):
        """The finished process, what its log says and its last epoch."""
        job = [MPIRUN, "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
        done = subprocess.run([*job, PROGRAM, "train", "--dataset", "small", "--data-dir", self.root / "data", "--model",
                               "cnn", "--epochs", "2", "--batch-size", "90", "--ema", "0.9", "--run-dir",
                               self.root / folder, *more], text=True, capture_output=True, timeout=PATIENCE)
        log, metrics = self.root / folder / "log.txt", self.root / folder / "metrics.jsonl"
        return (done, log.read_text() if log.exists() else "",
                json.loads(metrics.read_text().splitlines()[-1]) if metrics.exists() else {})

    def test_ranks_train_as_the_cpu_does(self):
        done, _, expected = self.train(1, "cpu", "--device", "cpu", "--replicas", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        for ranks, how in ((2, "nccl"), (GPUS, "auto")):
            done, log, found = self.train(ranks, f"gpu{ranks}", "--device", "cuda", "--allreduce", how)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(SAYS_NCCL, log)
            self.assertEqual(found["step"], expected["step"])
            self.assertAlmostEqual(found["train_loss"], expected["train_loss"], places=3)
            self.assertAlmostEqual(found["val_loss"], expected["val_loss"], places=3)

    def test_auto_does_without_where_gpus_are_shared_or_bits_are_promised(self):
        for ranks, more in ((GPUS + 1, []), (2, ["--shards", "2"]), (2, ["--wire", "bf16"])):
            done, log, _ = self.train(ranks, f"other{ranks}{len(more)}{''.join(more)}", "--device", "cuda", *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("computing on cuda:0", log)
            self.assertNotIn(SAYS_NCCL, log)

    def test_a_gpu_of_two_ranks_is_named(self):
        done, _, _ = self.train(2, "shared", "--device", "cuda:1", "--allreduce", "nccl")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "NCCL needs a GPU for each replica: ranks 0 and 1 both have .* of ")


unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
